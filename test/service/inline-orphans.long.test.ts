import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxOrphansPerWorker as limit } from '../../src/core/dispatch/deadline.ts';
import { Router } from '../../src/index.ts';
import { type Lifetime, TestService } from '../harness.ts';
import { until } from '../turns.ts';

/** What still runs on the main thread though nobody waits for it: docs/architecture.md, "The failure model". */

/** A service of handlers that ignore their signals until `release`. */
function start(t: Lifetime) {
  const router = new Router();
  let release: () => void = () => {};
  let begun = 0;
  const gate = (): Promise<void> => {
    begun++;
    return held;
  };
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const inline = { placement: 'inline' } as const;
  router.rpc({ name: 'wait', ...inline }, gate);
  router.rpc({ name: 'waitShort', ...inline, timeoutMs: 5 }, gate);
  router.rpc({ name: 'obey', ...inline }, (_, { signal }) => {
    begun++;
    return new Promise<number>((resolve) => {
      signal.addEventListener('abort', () => resolve(1));
    });
  });
  router.rpc({ name: 'generator', ...inline, stream: true }, async function* () {
    yield 1;
    await gate();
  });
  // Iterators need no return().
  router.rpc({ name: 'iterator', ...inline, stream: true }, (() => ({
    [Symbol.asyncIterator]: () => ({ next: () => gate().then(() => ({ done: true })) }),
  })) as never);
  router.rpc({ name: 'lateGenerator', ...inline, stream: true, timeoutMs: 5 }, (async () => {
    await gate();
    return {
      [Symbol.asyncIterator]: () => ({ next: () => gate(), return: () => new Promise(() => {}) }),
    };
  }) as never);
  router.rpc({ name: 'ping', ...inline }, () => 'pong');
  const { dispatcher: service } = TestService.make(t, { router });
  // A deadline alone keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  t.after(() => clearInterval(alive));
  const orphans = async (by: 'caller' | 'deadline'): Promise<number> => {
    const text = (await service.metrics?.text()) ?? '';
    const [, count] =
      new RegExp(
        `^tandem_orphaned_calls\\{by="${by}",place="inline",process="0"\\} (\\d+)$`,
        'm',
      ).exec(text) ?? [];
    return Number(count);
  };
  /** The text of the metrics is made once a second. */
  const counted = async (by: 'caller' | 'deadline', count: number): Promise<void> => {
    await until(async () => (await orphans(by)) === count);
  };
  const call = async (method: string, signal?: AbortSignal) =>
    (await service.dispatch({ jsonrpc: '2.0', id: 1, method }, { signal })) as {
      readonly result?: unknown;
      readonly error?: { readonly code: number };
    };
  /** Leaves `count` calls, each once its handler has begun. */
  const leaveCalls = async (method: string, count: number) => {
    // One for each: a signal looks through all of its listeners for each new one.
    const leaving = Array.from({ length: count }, () => new AbortController());
    const before = begun;
    const replies = leaving.map(({ signal }) => call(method, signal));
    await until(() => begun === before + count);
    for (const gone of leaving) gone.abort();
    return replies;
  };
  const leaveStreams = async (method: string, count: number) => {
    const before = begun;
    const leaving = Array.from({ length: count }, () => new AbortController());
    const reads = leaving.map(({ signal }) => {
      const stream = service.stream({ jsonrpc: '2.0', id: 1, method }, { signal });
      const read = async () => {
        for await (const value of stream) assert.equal(value, 1);
      };
      return assert.rejects(read, { code: -32003 });
    });
    await until(() => begun === before + count);
    for (const gone of leaving) gone.abort();
    await Promise.all(reads);
  };
  const isRefused = async (method: string): Promise<void> => {
    const before = begun;
    await assert.rejects(
      service.stream({ jsonrpc: '2.0', id: 1, method }).next(),
      ({
        code,
        data,
      }: {
        readonly code: number;
        readonly data: { readonly retryAfterMs: number };
      }) => code === -32000 && data.retryAfterMs >= 1,
    );
    assert.equal(begun, before, 'it has not run');
  };
  return {
    call,
    leaveCalls,
    leaveStreams,
    counted,
    isRefused,
    release: () => release(),
    service,
  };
}

test('beyond 4096 inline calls of the procedures that are left are refused with -32000, others served', async (t) => {
  const { call, leaveCalls, counted, isRefused, release } = start(t);
  const replies = await leaveCalls('wait', limit);
  await counted('caller', limit);
  await isRefused('wait');
  assert.equal((await call('ping')).result, 'pong');
  release();
  await Promise.all(replies);
  await counted('caller', 0);
  assert.equal((await call('wait')).error, undefined);
});

test('left inline streams count while their iterator ignores its signal', async (t) => {
  for (const method of ['generator', 'iterator']) {
    const { call, leaveStreams, counted, isRefused, release, service } = start(t);
    await leaveStreams(method, limit);
    await counted('caller', limit);
    assert.match((await service.metrics?.text()) ?? '', /^tandem_streams_open\S* 0$/m);
    await isRefused(method);
    assert.equal((await call('ping')).result, 'pong');
    release();
    await counted('caller', 0);
  }
});

test('inline calls that outlive their deadline count until their handlers end', async (t) => {
  const { call, counted, isRefused, release } = start(t);
  const replies = await Promise.all(Array.from({ length: limit }, () => call('waitShort')));
  for (const { error } of replies) assert.equal(error?.code, -32001);
  await counted('deadline', limit);
  await counted('caller', 0);
  await isRefused('waitShort');
  release();
  await counted('deadline', 0);
});

test('an inline call that is left and outlives its deadline counts once', async (t) => {
  const { leaveCalls, counted, release } = start(t);
  const [reply] = await leaveCalls('waitShort', 1);
  assert.equal((await reply)?.error?.code, -32001);
  await counted('deadline', 1);
  await counted('caller', 0);
  release();
  await counted('deadline', 0);
});

test('an iterator that a handler gives after its deadline counts until its return() has ended', async (t) => {
  const { counted, isRefused, release, service } = start(t);
  await Promise.all(
    Array.from({ length: limit }, async () => {
      const stream = service.stream({ jsonrpc: '2.0', id: 1, method: 'lateGenerator' });
      await assert.rejects(stream.next(), { code: -32001 });
    }),
  );
  await counted('deadline', limit);
  release();
  await counted('deadline', 0);
  await counted('caller', limit);
  await isRefused('lateGenerator');
});

test('inline calls that end when their signal aborts are no orphans', async (t) => {
  const { call, leaveCalls, counted } = start(t);
  for (const reply of await leaveCalls('obey', limit)) assert.equal((await reply).result, 1);
  await counted('caller', 0);
  assert.equal((await call('ping')).result, 'pong');
});
