import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { turn, until } from '../turns.ts';
import {
  assertOk,
  assertRanOnce,
  begun,
  board,
  gate,
  outcomes,
  type Plan,
  plan,
  plans,
  runsOf,
  Service,
} from './plans.ts';

/** Known as cheap, these share a frame with whatever is sent in the same turn. */
const cheap = ['act', 'long', 'heavy'];

describe('one worker: what a killed thread leaves behind', () => {
  const service = Service.suite({
    workers: 1,
    spareWorkers: 1,
    timeoutMs: 20_000,
    // Thousands of calls that take their time one after another, on a busy machine, are one request each.
    maxRequestMs: 600_000,
  });

  test('a caller that goes while the rest of its batch is taken back: what runs of it is told all the same', async () => {
    await service.whole();
    await service.learn('long');
    const caller = new AbortController();
    const first = plan('wait', { gate: gate() });
    const some = [first, ...plans(3)];
    const answer = service.batch(some, { signal: caller.signal });
    await begun(first);
    const holding = plan('hold', { gate: gate() });
    const held = service.send(holding);
    // The thread is in another call for long, so what has not begun there is taken back.
    await until(() => service.pool.workers[0]?.inFlight === 2);
    caller.abort();
    board.open(holding.params.gate);
    assertOk([await held, await service.send(plan())]);
    assert.equal(board.marks(first.params.n), 1, 'its signal aborted');
    assert.deepEqual(outcomes(await answer), ['ok', '-32003', '-32003', '-32003']);
    assert.deepEqual(runsOf(some), [1, 0, 0, 0]);
    await service.assertIdle();
  });

  test('after a thread has died its calls are counted right: none waits that does not exist', async () => {
    await service.whole();
    await service.learn('long', 'heavy');
    const batches = Array.from({ length: 5 }, () => [
      plan('wait', { method: 'long', gate: gate() }),
      ...plans(3, 'echo', { method: 'long' }),
    ]);
    const answers = batches.map((some) => service.batch(some));
    for (const some of batches) await begun(some[0] as Plan);
    // In no call: nothing has been taken back from the thread before it is gone.
    const culprit = plan('reallyExitLater', { method: 'heavy' });
    assert.equal((await service.send(culprit)).outcome, '-32002 exit');
    for (const answer of answers) {
      assert.deepEqual(outcomes(await answer), ['-32002 exit', 'ok', 'ok', 'ok']);
    }
    assertRanOnce(batches.flat());
    await service.assertIdle();
  });

  test('a stalled main thread does not turn calls that have ended into expired ones', async () => {
    await service.whole();
    await service.learn('act');
    const some = plans(20, 'echo', { method: 'act' });
    const answers = service.sendAll(some);
    await turn();
    do await turn();
    while (service.pool.queued > 0);
    // From here on no message is received before all deadlines are over, and all calls.
    const stalledUntil = performance.now() + 400;
    while (performance.now() < stalledUntil || runsOf(some).includes(0));
    assert.deepEqual(
      runsOf(some),
      some.map(() => 1),
      'they have run meanwhile',
    );
    assertOk(await answers);
  });
});

describe('a thread held up between calls', () => {
  const service = Service.suite({ workers: 2, spareWorkers: 0, timeoutMs: 1000 });

  test('spinning behind a returned call: what is sent to it runs elsewhere exactly once, and it is replaced', async () => {
    await service.learn(...cheap);
    const culprit = plan('spinAfterReturn');
    assertOk([await service.send(culprit)]);
    const thread = board.thread(culprit.params.n);
    await until(() => board.marks(culprit.params.n) === 1);
    const { kills } = service.pool;
    while (service.threads.includes(thread)) {
      const some = plans(10);
      const ended = await service.sendAll(some);
      assertOk(ended);
      assertRanOnce(some);
      for (const one of ended) assert.notEqual(one.thread, thread);
    }
    assert.equal(service.pool.kills, kills + 1);
    await service.whole();
  });

  test('spinning because its signal aborted: the same', async () => {
    await service.learn(...cheap);
    const culprit = plan('spinWhenAborted');
    assert.equal((await service.send(culprit)).outcome, '-32001');
    const thread = board.thread(culprit.params.n);
    while (service.threads.includes(thread)) {
      const some = plans(10);
      assertOk(await service.sendAll(some));
      assertRanOnce(some);
    }
    await service.whole();
  });
});

describe('two workers: a misjudged call', () => {
  const service = Service.suite({ workers: 2, spareWorkers: 0 });

  test('light calls behind a heavy one that was taken for light are taken back and run elsewhere, exactly once', async () => {
    await service.learn(...cheap);
    // Both threads hold; each has light calls behind it in its frame.
    const held = plans(2, 'hold', { method: 'long', gate: gate() });
    const light = plans(40, 'echo', { method: 'long' });
    const holding = service.sendAll(held.slice(0, 1));
    const answers = service.sendAll(light);
    const ended = await answers;
    assertOk(ended);
    assertRanOnce(light);
    const thread = await begun(held[0] as Plan);
    for (const one of ended) assert.notEqual(one.thread, thread, 'none waited for the heavy one');
    board.open(held[0]!.params.gate);
    assertOk(await holding);
    assertRanOnce(held.slice(0, 1));
    await service.assertIdle();
  });
});

describe('native code that can not be stopped', () => {
  test('-32001 all the same, its slot is filled, the thread is counted as a zombie, and close() does not wait for it', async (t) => {
    const service = new Service({ workers: 2 });
    await service.dispatcher.ready();
    const file = join(tmpdir(), `tandem-native-${process.pid}`);
    rmSync(file, { force: true });
    t.after(() => writeFileSync(file, ''));
    const stuck = plan('native', { tail: file });
    const waiting = plans(2, 'wait', { method: 'long', gate: gate() });
    const waits = service.sendAll(waiting);
    for (const one of waiting) await begun(one);
    assert.equal((await service.send(stuck)).outcome, '-32001');
    assertOk(await service.sendAll(plans(10)));
    await until(() => service.pool.zombies === 1);
    board.open(waiting[0]!.params.gate);
    const thread = board.thread(stuck.params.n);
    for (const { outcome, plan } of await waits) {
      const isNeighbour = board.thread(plan.params.n) === thread;
      assert.equal(outcome, isNeighbour ? '-32002 neighbour' : 'ok');
    }
    await service.whole();
    assertOk(await service.sendAll(plans(10)));
    await service.dispatcher.close();
    assert.equal(service.dispatcher.stats().state, 'closed');
  });

  test('a zombie that goes after all is none any more', async (t) => {
    const service = await Service.start(t, { workers: 1 });
    const file = join(tmpdir(), `tandem-native-gone-${process.pid}`);
    // Of an earlier process with this number: the call would not be stuck.
    rmSync(file, { force: true });
    t.after(() => rmSync(file, { force: true }));
    const stuck = plan('native', { tail: file });
    assert.equal((await service.send(stuck)).outcome, '-32001');
    await until(() => service.pool.zombies === 1);
    writeFileSync(file, '');
    await until(() => service.pool.zombies === 0);
    assertOk(await service.sendAll(plans(10)));
  });
});
