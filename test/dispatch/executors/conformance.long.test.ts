import { group, groupBatched, inlineBatched, poolAffinity, poolBatched } from './subjects.ts';
import { conformance } from './suite.ts';

/** Both once more: calls together, and the pool under the name of a group, and with affinity. */
for (const subject of [inlineBatched, poolBatched, group, groupBatched, poolAffinity])
  conformance(subject);
