import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { fuzzers } from './fuzz/fuzzers.ts';

/** A new one each time, but where FUZZ_SEED repeats a run. */
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));

describe(`hostile data at random, other ones each time (FUZZ_SEED=${seed})`, () => {
  for (const [name, { start, round, lacks }] of Object.entries(fuzzers)) {
    test(`a round of ${name}`, { skip: lacks?.() ?? false }, async () => {
      const fuzzer = await start();
      try {
        await fuzzer.run({ seed, runs: round });
      } finally {
        await fuzzer.close();
      }
    });
  }
});
