import { BodyFuzzer } from './bodies.ts';
import { HttpFuzzer } from './http.ts';
import { PoolFuzzer } from './pool.ts';
import type { Fuzzer } from './run.ts';
import { SchemaWorkFuzzer } from './schema-work.ts';

interface Kind {
  readonly start: () => Promise<Fuzzer>;
  /** Cases of one round: some seconds of work, so that the kinds take turns. */
  readonly round: number;
}

/** By the name that --only takes. */
export const fuzzers: Readonly<Record<string, Kind>> = {
  bodies: { start: () => BodyFuzzer.start(), round: 300 },
  http: { start: () => HttpFuzzer.start(), round: 1000 },
  'schema-work': { start: async () => new SchemaWorkFuzzer(), round: 300 },
  pool: { start: () => PoolFuzzer.start(), round: 3 },
};
