import { test } from 'node:test';
import { describeNats } from '../nats/server.ts';
import { NatsFuzzer } from './fuzz/nats.ts';
import { seed } from './fuzz/run.ts';

describeNats(`hostile messages over NATS at random (FUZZ_SEED=${seed})`, () => {
  test('a member and a gateway: what keeps to the protocol has the answer of the reference', async () => {
    const fuzzer = await NatsFuzzer.start();
    try {
      await fuzzer.run({ seed, runs: 25 });
    } finally {
      await fuzzer.close();
    }
  });
});
