import { group, groupBatched, poolAffinity } from './subjects.ts';
import { conformance } from './suite.ts';

/** The pool once more, under the name of a group, and with affinity. */
for (const subject of [group, groupBatched, poolAffinity]) conformance(subject);
