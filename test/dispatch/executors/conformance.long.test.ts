import { group, groupBatched } from './subjects.ts';
import { conformance } from './suite.ts';

/** The pool once more, under the name of a group. */
for (const subject of [group, groupBatched]) conformance(subject);
