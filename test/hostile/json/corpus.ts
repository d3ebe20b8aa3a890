import { accepted } from './accepted.ts';
import type { JsonCase } from './case.ts';
import { decided } from './decided.ts';
import { rejected } from './rejected.ts';

/** JSON texts, and what is none, each with what must become of it. */
export const corpus: readonly JsonCase[] = [...accepted, ...rejected, ...decided];
