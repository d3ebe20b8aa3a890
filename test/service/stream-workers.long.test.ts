import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { DispatcherOptions } from '../../src/index.ts';
import { type Lifetime, suiteLifetime, TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { fixture } from './running.ts';

interface Failure {
  readonly code: number;
  readonly data: unknown;
}

/** How a stream was read to its end. */
interface Read {
  readonly values: unknown[];
  readonly returned?: unknown;
  readonly failure?: Failure;
}

const call = (method: string, params?: object) => ({ jsonrpc: '2.0', id: 1, method, params });

/** A service of test/fixtures/service/streaming.ts, not started. */
function create(t: Lifetime, options: DispatcherOptions = {}) {
  const { dispatcher: service, lines } = TestService.make(t, {
    modules: [fixture('streaming.ts')],
    ...options,
  });
  const result = async (method: string, params?: object): Promise<unknown> =>
    ((await service.dispatch(call(method, params))) as { result: unknown }).result;
  return {
    service,
    lines,
    result,
    open: (method: string, n?: number) =>
      service.stream(call(method, n === undefined ? undefined : { n })),
    /** Gives what resolves when so many more generators of the one thread have ended. */
    countEnds: async () => {
      const before = (await result('ended')) as number;
      return async (count: number) => {
        while ((await result('ended')) !== before + count);
      };
    },
    streams: () => service.stats().pool?.workers.reduce((sum, { streams }) => sum + streams, 0),
    kills: () => service.stats().pool?.kills ?? 0,
  };
}

/** One for a test of its own. */
async function start(t: Lifetime, options: DispatcherOptions = {}) {
  const created = create(t, options);
  await created.service.ready();
  return created;
}

/** One that the tests of a suite share. */
function suite() {
  const created = create(suiteLifetime());
  before(() => created.service.ready());
  return created;
}

/** Reads a stream to its end. */
async function read(stream: AsyncGenerator<unknown, unknown>): Promise<Read> {
  const values: unknown[] = [];
  try {
    for (;;) {
      const { done, value } = await stream.next();
      if (done === true) return { values, returned: value };
      values.push(value);
    }
  } catch (error) {
    const { code, data } = error as Failure;
    return { values, failure: { code, data } };
  }
}

/** It could have gone on, and its client is told when to come back. */
function assertEnded(failure: Failure | undefined, reason: string): void {
  assert.ok(failure !== undefined);
  const { code, data } = failure;
  const told = data as { reason: string; retryAfterMs: number };
  assert.deepEqual([code, told.reason], [-32003, reason]);
  assert.ok(told.retryAfterMs >= 0 && told.retryAfterMs <= 1000);
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe('streams from a worker', () => {
  const { service, open, result, countEnds, streams } = suite();

  test('keep the order of values that travel in different ways', async () => {
    const sizes = Array.from({ length: 300 }, (_, i) =>
      i % 7 === 3 ? 20_000 : i % 11 === 5 ? 100_000 : i,
    );
    const { values } = await read(service.stream(call('large', { sizes })));
    assert.equal(values.length, sizes.length);
    for (const [i, value] of values.entries()) {
      assert.ok(String(value) === `${i} ${'x'.repeat(sizes[i] ?? 0)}`, `value ${i} in its place`);
    }
  });

  test('a left generator that ignores its signal is counted in tandem_orphaned_calls', async (t) => {
    const { service, open } = await start(t);
    const deaf = open('deaf');
    await deaf.next();
    await deaf.return(undefined);
    const isCounted = async () =>
      (await service.metrics?.text())?.includes(
        '\ntandem_orphaned_calls{by="caller",process="0"} 1\n',
      );
    await until(async () => (await isCounted()) === true);
  });

  test('one worker has 1024 generators at most', async () => {
    const ended = await countEnds();
    const all = Array.from({ length: 1024 }, () => open('until'));
    await Promise.all(all.map((stream) => stream.next()));
    const { failure } = await read(open('until'));
    const data = { reason: 'streams', limit: 'workers', retryAfterMs: 1000, retry: true };
    assert.deepEqual(failure, { code: -32000, data });
    assert.equal(typeof (await result('thread')), 'number');
    await all[0]?.return(undefined);
    await ended(1);
    assert.deepEqual((await read(open('count', 3))).values, upTo(3));
    assert.equal(streams(), 1023);
    await Promise.all(all.map((stream) => stream.return(undefined)));
  });
});

describe('what ends a thread ends its streams', () => {
  const { open, result, kills } = suite();

  test('a generator that holds the thread behind its wait', async (t) => {
    const own = await start(t, { timeoutMs: 300 });
    assert.deepEqual((await read(own.open('spinLater'))).failure, {
      code: -32002,
      data: { reason: 'neighbour' },
    });
    assert.equal(own.kills(), 1);
  });

  test('a stream whose reader has left holds the thread no longer than it may', async () => {
    const before = kills();
    for await (const value of open('spin', 3)) if (value === 2) break;
    assert.equal(typeof (await result('thread')), 'number');
    assert.equal(kills(), before + 1);
  });
});

describe('streams over the workers', () => {
  test('are spread: what idles counts as no load', async (t) => {
    const { open, service } = await start(t, { workers: 2 });
    const streams: ReturnType<typeof open>[] = [];
    const openOn = () => service.stats().pool?.workers.map(({ streams: open }) => open) ?? [];
    // A worker that the machine holds up gets none meanwhile. Were the streams not counted, the other one would always be full first.
    while (Math.min(...openOn()) < 5) {
      const stream = open('until');
      streams.push(stream);
      await stream.next();
    }
    await Promise.all(streams.map((stream) => stream.return(undefined)));
  });
});

describe('streams whose worker is replaced', () => {
  test('end with -32003 at their next yield, and the worker after them', async (t) => {
    const { open, result, streams, service } = await start(t, {
      maxWorkerMemory: 200 * 1024 ** 2,
      spareWorkers: 1,
    });
    const stream = open('until');
    const { value: first } = await stream.next();
    const finishing = read(open('finishing', 300));
    const [one, other] = [read(stream), until(() => streams() === 2)];
    await other;
    await result('leak', { n: 250 });
    while ((await result('thread')) === first);
    const { failure } = await one;
    assertEnded(failure, 'recycle');
    assert.deepEqual(await finishing, { values: [first], returned: 'finished' });
    await until(
      () => service.stats().pool?.workers.every(({ threadId }) => threadId !== first) === true,
    );
  });

  test('or when their time is over', async (t) => {
    const { open, result } = await start(t, {
      maxWorkerMemory: 200 * 1024 ** 2,
      maxRequestMs: 200,
      spareWorkers: 1,
    });
    const stream = open('deaf');
    const { value: first } = await stream.next();
    await result('leak', { n: 250 });
    while ((await result('thread')) === first);
    const { failure } = await read(stream);
    assertEnded(failure, 'recycle');
  });
});

describe('the end of a service with streams in workers', () => {
  test('the close waits for the grace, and says why', async (t) => {
    const { service, open } = await start(t);
    const [ending, finishing] = [open('until'), open('finishing', 200)];
    const [{ value }] = await Promise.all([ending.next(), finishing.next()]);
    assert.equal(typeof value, 'number');
    const [ended, finished] = [read(ending), read(finishing)];
    await service.close(10_000);
    const { failure } = await ended;
    assertEnded(failure, 'shutdown');
    assert.equal((await finished).returned, 'finished');
  });
});
