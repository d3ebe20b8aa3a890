import { group, groupBatched, poolAffinity, poolBatched } from './subjects.ts';
import { conformance } from './suite.ts';

/** The pool once more: its calls together, into sinks, under the name of a group, and with affinity. */
for (const subject of [poolBatched, group, groupBatched, poolAffinity]) conformance(subject);
