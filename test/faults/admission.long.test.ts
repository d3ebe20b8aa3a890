import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { turn, until } from '../turns.ts';
import {
  assertOk,
  assertRanOnce,
  begun,
  board,
  type Ended,
  gate,
  outcomes,
  type Plan,
  plan,
  plans,
  runsOf,
  Service,
} from './plans.ts';

/** A worker that is in a call, until the gate is opened. */
async function holdWorker(service: Service): Promise<{ gate: number; held: Promise<Ended> }> {
  for (;;) {
    const one = plan('hold', { method: 'heavy', gate: gate() });
    const held = service.send(one);
    if (await beginsBefore(one, held)) return { gate: one.params.gate, held };
    // Refused: on a busy machine it waited too long.
  }
}

/** A batch whose first call is held, whose second loops, and which has three more. */
async function holdInBatch(
  service: Service,
): Promise<{ heavy: Plan; some: Plan[]; answer: Promise<Ended[]> }> {
  for (;;) {
    const heavy = plan('hold', { method: 'long', gate: gate() });
    const some = [heavy, plan('loop'), ...plans(3)];
    const answer = service.batch(some);
    if (await beginsBefore(heavy, answer)) return { heavy, some, answer };
  }
}

/** Whether a call begins before the answer comes. */
async function beginsBefore({ params }: Plan, answer: Promise<unknown>): Promise<boolean> {
  let isAnswered = false;
  const note = (): void => {
    isAnswered = true;
  };
  answer.then(note, note);
  await until(() => isAnswered || board.runs(params.n) > 0);
  return board.runs(params.n) > 0;
}

/** Resolves once calls are answered again: on a busy machine some may wait too long before. */
async function answersAgain(service: Service): Promise<void> {
  for (;;) {
    const ended = await service.send(plan());
    if (ended.outcome === 'ok') return;
    assertOverloaded(ended);
  }
}

/**
 * Repeats what holds only where the machine is quick enough for limits of some 100 ms, which are tested here: on a
 * busy one another limit than the one that is meant may be met first.
 */
async function eventually(attempt: () => Promise<void>): Promise<void> {
  for (let left = 50; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

function assertOverloaded({ outcome, data }: Ended): void {
  assert.equal(outcome, '-32000');
  const { retryAfterMs } = data as { retryAfterMs: number };
  assert.ok(Number.isSafeInteger(retryAfterMs) && retryAfterMs > 0, `retryAfterMs ${retryAfterMs}`);
}

describe('a bounded queue', () => {
  const service = Service.suite({ workers: 1, maxQueue: 5 });

  test('beyond maxQueue calls are refused with retryAfterMs and never run; those that wait run once, in order', async () => {
    const { gate, held } = await holdWorker(service);
    const waiting = plans(5);
    const answers = service.sendAll(waiting);
    await turn();
    await turn();
    assert.equal(service.pool.queued, 5);
    const refused = plans(20);
    for (const ended of await service.sendAll(refused)) assertOverloaded(ended);
    const batch = plans(3);
    for (const ended of await service.batch(batch)) assertOverloaded(ended);
    const silent = plans(3, 'echo', { notify: true });
    await service.sendAll(silent);
    board.open(gate);
    assertOk([await held, ...(await answers)]);
    assertRanOnce(waiting);
    const orders = waiting.map(({ params }) => board.order(params.n));
    assert.deepEqual(
      orders,
      orders.toSorted((a, b) => a - b),
    );
    assertOk(await service.sendAll(plans(5)));
    assert.deepEqual(new Set(runsOf([...refused, ...batch, ...silent])), new Set([0]));
    await service.assertIdle();
  });
});

describe('maxQueue: 0', () => {
  const service = Service.suite({ workers: 1, maxQueue: 0 });

  test('nothing waits: an idle worker takes a call, a busy one refuses it', async () => {
    assertOk([await service.send(plan())]);
    const { gate, held } = await holdWorker(service);
    const refused = plan();
    assertOverloaded(await service.send(refused));
    board.open(gate);
    assertOk([await held]);
    assertOk([await service.send(plan())]);
    assert.equal(board.runs(refused.params.n), 0);
  });
});

describe('a bounded wait', () => {
  const service = Service.suite({ workers: 1, maxQueueMs: 150 });

  test('waiting beyond maxQueueMs: -32000 with retryAfterMs, and the call never runs', async () => {
    const { gate, held } = await holdWorker(service);
    const waiting = [...plans(3), plan('echo', { method: 'one' })];
    for (const ended of await service.sendAll(waiting)) assertOverloaded(ended);
    const batch = plans(3);
    for (const ended of await service.batch(batch)) assertOverloaded(ended);
    board.open(gate);
    assertOk([await held]);
    await answersAgain(service);
    assert.deepEqual(new Set(runsOf([...waiting, ...batch])), new Set([0]));
  });

  test('time that earlier calls of a batch took is no waiting: what follows a killed one is not refused', async () => {
    const { heavy, answer } = await holdInBatch(service);
    // Longer than any call may wait, counted by calls that did.
    const waited = plan();
    assertOverloaded(await service.send(waited));
    board.open(heavy.params.gate);
    assert.deepEqual(outcomes((await answer).slice(0, 2)), ['ok', '-32001']);
    // One worker, and its replacement has to start first: that is waiting, and may be too long.
    for (const { outcome, plan } of (await answer).slice(2)) {
      assert.equal(board.runs(plan.params.n), outcome === 'ok' ? 1 : 0);
      assert.ok(['ok', '-32000'].includes(outcome), outcome);
    }
    await service.whole();
  });
});

describe('a bounded request', () => {
  const service = Service.suite({ workers: 1, maxRequestMs: 300 });

  test('maxRequestMs over a batch: what has not ended by then is -32001, what has not begun never runs', async () => {
    await eventually(async () => {
      const some = [
        plan('echo'),
        plan('echo', { method: 'in.act' }),
        plan('never', { method: 'long' }),
        plan('echo'),
        plan('echo', { method: 'in.act' }),
        plan('echo', { method: 'one' }),
      ];
      const ended = await service.batch(some);
      assert.deepEqual(outcomes(ended), ['ok', 'ok', '-32001', '-32001', '-32001', '-32001']);
      for (const { data } of ended.slice(2)) assert.deepEqual(data, { timeoutMs: 300 });
      assert.deepEqual(runsOf(some), [1, 1, 1, 0, 0, 0]);
    });
    await eventually(async () => assertOk(await service.sendAll(plans(5))));
  });

  test('and over a call in synchronous code, whose thread is then killed', async () => {
    await eventually(async () => {
      const { kills } = service.pool;
      const [ended] = await service.sendAll([plan('loop', { method: 'long' })]);
      assert.deepEqual([ended?.outcome, ended?.data], ['-32001', { timeoutMs: 300 }]);
      assert.equal(service.pool.kills, kills + 1);
    });
    await service.whole();
  });
});

describe('maxConcurrency', () => {
  const service = Service.suite({ workers: 2, spareWorkers: 1 });

  test('the excess waits, others pass, and each runs once', async () => {
    const open = gate();
    const heavy = plans(6, 'hold', { method: 'one', gate: open });
    board.takeMostInside();
    const answers = service.sendAll(heavy);
    await begun(heavy[0] as Plan);
    for (let round = 0; round < 20; round++) assertOk(await service.sendAll(plans(5)));
    assert.equal(
      runsOf(heavy).reduce((sum, runs) => sum + runs, 0),
      1,
    );
    assert.equal(service.pool.queued, 5);
    board.open(open);
    assertOk(await answers);
    assertRanOnce(heavy);
    assert.equal(board.takeMostInside(), 1);
    await service.assertIdle();
  });

  for (const kind of ['loop', 'never'] as const) {
    test(`a slot is freed by ${kind === 'loop' ? 'a kill' : 'a replacement of the worker, after 10 s'}`, async () => {
      // The calls behind it have the same short deadline.
      await eventually(async () => {
        await service.whole();
        const some = [
          plan(kind, { method: 'oneShort' }),
          ...plans(4, 'echo', { method: 'oneShort' }),
        ];
        assert.deepEqual(outcomes(await service.sendAll(some)), ['-32001', 'ok', 'ok', 'ok', 'ok']);
        assertRanOnce(some);
      });
      await service.whole();
    });
  }

  test('a slot is freed by the death of its thread', async () => {
    await service.whole();
    const some = [plan('reallyExit', { method: 'one' }), ...plans(4, 'echo', { method: 'one' })];
    assert.deepEqual(outcomes(await service.sendAll(some)), [
      '-32002 exit',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
    assertRanOnce(some);
    await service.whole();
    await service.assertIdle();
  });

  test('a slot is freed by a cancelled call that ends at its signal', async () => {
    const caller = new AbortController();
    const running = plan('wait', { method: 'one', gate: gate() });
    const ended = service.send(running, { signal: caller.signal });
    await begun(running);
    const next = plans(3, 'echo', { method: 'one' });
    const answers = service.sendAll(next);
    caller.abort();
    assertOk([await ended, ...(await answers)]);
    assert.equal(board.marks(running.params.n), 1, 'its signal aborted');
    assertRanOnce(next);
  });
});
