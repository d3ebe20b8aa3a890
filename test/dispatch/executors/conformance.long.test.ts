import { group, groupBatched, inlineBatched, pool, poolAffinity, poolBatched } from './subjects.ts';
import { conformance } from './suite.ts';

/** The pool, whose calls test/service asks for from outside, and both once more: calls together, in a group, with affinity. */
for (const subject of [pool, inlineBatched, poolBatched, group, groupBatched, poolAffinity])
  conformance(subject);
