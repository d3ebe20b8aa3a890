import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { TestService } from '../harness.ts';
import { fixture } from './running.ts';

/** Milliseconds that a generator computes before each value. */
const sliceMs = 20;

/** A service of one worker with `count` streams that compute, and are read. */
async function start(t: TestContext, spareWorkers: number, count: number) {
  const { dispatcher: service } = await TestService.start(t, {
    modules: [fixture('streaming.ts')],
    spareWorkers,
  });
  /** The last value of each stream: how many slices all of them had had. */
  const last: number[] = [];
  const reading = Array.from({ length: count }, async (_, id) => {
    const stream = service.stream({ id, method: 'computes', params: { n: sliceMs } });
    last[id] = Number((await stream.next()).value);
    const rest = async (): Promise<void> => {
      for await (const value of stream) last[id] = Number(value);
    };
    // The end of the service ends the stream.
    rest().catch(() => {});
  });
  await Promise.all(reading);
  /** Calls a procedure that holds the thread for `ms`. @returns how many slices the streams had had before */
  const call = async (ms: number): Promise<number> => {
    const reply = await service.dispatch({ id: 1, method: 'slices', params: { n: ms } });
    return (reply as { result: number }).result;
  };
  /** Resolves when each stream has given another value. */
  const goOn = async (): Promise<void> => {
    const before = last.slice();
    while (last.some((value, i) => value === before[i])) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  return { call, goOn };
}

describe('pooled calls beside generators that compute between their values', () => {
  for (const spareWorkers of [0, 1]) {
    for (const count of [1, 5]) {
      test(`a call waits for few slices: 1 worker, ${spareWorkers} spares, ${count} streams, which go on`, async (t) => {
        const { call, goOn } = await start(t, spareWorkers, count);
        const calls = 30;
        const before = await call(0);
        let after = before;
        // A call on the spare waits for no slice, and knows of none.
        for (let i = 0; i < calls; i++) after = Math.max(after, await call(0));
        assert.ok(
          after - before <= 3 * count * calls,
          `${after - before} slices in ${calls} calls`,
        );
        await goOn();
      });
    }
  }

  test('calls without end leave the streams about half of the time', async (t) => {
    const { call, goOn } = await start(t, 0, 1);
    const [calls, ms] = [300, 2];
    const seen = await Promise.all(Array.from({ length: calls }, () => call(ms)));
    const had = Math.max(...seen) - Math.min(...seen);
    const even = (calls * ms) / sliceMs;
    assert.ok(had >= even / 8, `${had} slices beside ${calls} calls, ${even} would be even`);
    await goOn();
  });
});
