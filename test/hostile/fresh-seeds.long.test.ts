import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { fuzzers } from './fuzz/fuzzers.ts';

/** A new one each time, but where FUZZ_SEED repeats a run. */
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));

describe(`hostile data at random, other ones each time (FUZZ_SEED=${seed})`, () => {
  for (const [name, { start, round, lacks }] of Object.entries(fuzzers)) {
    test(`a quarter of a round of ${name}`, { skip: lacks?.() ?? false }, async () => {
      const fuzzer = await start();
      try {
        // Whoever looks for rare cases lets `npm run fuzz` run for as long as they like.
        await fuzzer.run({ seed, runs: Math.ceil(round / 4) });
      } finally {
        await fuzzer.close();
      }
    });
  }
});
