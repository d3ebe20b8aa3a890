import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { BodyFuzzer } from './fuzz/bodies.ts';
import { fuzzers } from './fuzz/fuzzers.ts';

/** A new one each time, but where FUZZ_SEED repeats a run. */
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));

describe(`hostile data at random, other ones each time (FUZZ_SEED=${seed})`, () => {
  for (const [name, { start, round }] of Object.entries(fuzzers)) {
    test(`a quarter of a round of ${name}`, async () => {
      const fuzzer = await start();
      try {
        // Whoever looks for rare cases lets `npm run fuzz` run for as long as they like.
        await fuzzer.run({ seed, runs: Math.ceil(round / 4) });
      } finally {
        await fuzzer.close();
      }
    });
  }

  test('a fuzzer that never fails proves nothing: the reference is held against a wrong one', async () => {
    // The same bodies, where the service is asked for another version of the protocol.
    const fuzzer = await BodyFuzzer.startInline({ strict: true });
    try {
      await assert.rejects(
        fuzzer.run({ seed, runs: 200, shrinks: false }),
        /--seed \d+ --path [\d:]+\n/,
      );
    } finally {
      await fuzzer.close();
    }
  });
});
