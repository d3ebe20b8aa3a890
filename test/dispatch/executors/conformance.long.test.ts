import { group } from './subjects.ts';
import { conformance } from './suite.ts';

/** The pool once more, under the name of a group. */
conformance(group);
