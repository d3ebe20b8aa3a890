import type { Suite } from '../suite.ts';
import { batches } from './batches.ts';
import { cluster } from './cluster.ts';
import { fairness } from './fairness.ts';
import { hop } from './hop.ts';
import { http } from './http.ts';
import { isolation } from './isolation.ts';
import { limits } from './limits.ts';
import { media } from './media.ts';
import { micro } from './micro.ts';
import { mixture } from './mixture.ts';
import { soakSuite } from './soak.ts';
import { stalls } from './stalls.ts';
import { start } from './start.ts';
import { streams } from './streams.ts';
import { transports } from './transports.ts';

export const suites: readonly Suite[] = [
  micro,
  hop,
  batches,
  http,
  transports,
  isolation,
  mixture,
  fairness,
  limits,
  stalls,
  streams,
  cluster,
  start,
  media,
  soakSuite,
];
