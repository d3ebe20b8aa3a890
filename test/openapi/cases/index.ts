import { bytes } from './bytes.ts';
import { caching } from './caching.ts';
import { calls } from './calls.ts';
import type { HttpCase } from './case.ts';
import { document } from './document.ts';
import { errors } from './errors.ts';
import { limits } from './limits.ts';
import { pages } from './pages.ts';
import { reads } from './reads.ts';
import { streams } from './streams.ts';

export const cases: readonly HttpCase[] = [
  ...reads,
  ...calls,
  ...errors,
  ...pages,
  ...bytes,
  ...streams,
  ...limits,
  ...caching,
  ...document,
];
