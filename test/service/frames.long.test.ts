import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import type { Dispatcher } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { fixture, Running } from './running.ts';

/** Messages with calls, and the calls in them, so far. */
function sent(dispatcher: Dispatcher): { frames: number; calls: number } {
  const { counters } = dispatcher.metrics!.snapshot();
  return { frames: counters.frames, calls: counters.framedCalls };
}

test('a stream of calls shares messages, however their results come back', async (t) => {
  const { dispatcher } = await TestService.start(t, {
    modules: [fixture('aging.ts')],
    spareWorkers: 1,
  });
  const call = (): Promise<unknown> => dispatcher.dispatch({ method: 'where', id: 1 });
  // Until its cost is known, a procedure travels alone.
  for (let n = 0; n < 50; n++) await call();
  const lone = sent(dispatcher);
  assert.equal(lone.calls, lone.frames);
  for (const inFlight of [64, 512]) {
    const before = sent(dispatcher);
    const perLane = 100;
    // Each answer brings one new call, so that nothing but the pool makes them travel together.
    const lane = async (): Promise<void> => {
      for (let n = 0; n < perLane; n++) await call();
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
    const after = sent(dispatcher);
    const calls = after.calls - before.calls;
    const frames = after.frames - before.frames;
    // More where a busy machine held the worker up, and some were taken back and sent again.
    assert.ok(calls >= inFlight * perLane);
    // Half of what is in flight where the main thread sees each result at once, more where it does not, and fewer where a busy
    // machine gives the two threads no time at the same time.
    assert.ok(calls / frames > Math.min(inFlight / 16, 16), `${calls} calls in ${frames} frames`);
  }
});

test('a result does not wait for a call behind it that was taken for a short one', async (t) => {
  const { dispatcher, journal } = await Running.start(t, {
    modules: [fixture('mostly-short.ts')],
    spareWorkers: 1,
  });
  const run = (params = {}): Promise<unknown> =>
    dispatcher.dispatch({ method: 'run', params, id: 1 });
  for (let n = 0; n < 200; n++) await run();
  const until = journal.gate;
  const reply = (result: boolean) => ({ jsonrpc: '2.0', id: 1, result });
  for (let frames = 0; frames !== 1; ) {
    rmSync(until, { force: true });
    const before = sent(dispatcher);
    const ahead = [run(), run()];
    const held = run({ until });
    assert.deepEqual(await Promise.all(ahead), [reply(true), reply(true)]);
    // More: they did not travel together, as the machine held the worker up, and some were taken back and sent again.
    frames = sent(dispatcher).frames - before.frames;
    journal.release();
    assert.deepEqual(await held, reply(false));
  }
});
