import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Dispatcher, DispatcherOptions } from '../../src/index.ts';
import { type LogLine, TestService } from '../harness.ts';
import { until } from '../turns.ts';
import { fixture } from './running.ts';

interface Aging {
  readonly dispatcher: Dispatcher;
  readonly lines: readonly LogLine[];
  /** Threads whose teardown has run. */
  readonly tornDown: () => number[];
  /** The thread that answered. @throws for an error */
  readonly call: (method: string, params?: unknown) => Promise<number>;
}

async function start(t: TestContext, options: DispatcherOptions): Promise<Aging> {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-aging-'));
  const journal = join(folder, 'journal');
  process.env.AGING_JOURNAL = journal;
  const { dispatcher, lines } = new TestService({
    modules: [fixture('aging.ts')],
    spareWorkers: 1,
    ...options,
  });
  t.after(async () => {
    await dispatcher.close();
    rmSync(folder, { recursive: true, force: true });
    delete process.env.AGING_JOURNAL;
  });
  await dispatcher.ready();
  let id = 0;
  return {
    dispatcher,
    lines,
    tornDown: () =>
      existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').map(Number) : [],
    call: async (method, params) => {
      const reply = await dispatcher.dispatch({
        id: ++id,
        method,
        ...(params !== undefined && { params }),
      });
      const { result } = reply as { result?: number };
      assert.ok(result !== undefined, JSON.stringify(reply));
      return result;
    },
  };
}

const maxWorkerMemory = 100 * 1024 ** 2;
const leak = { mb: 120 };

for (const spareWorkers of [1, 0]) {
  test(`a worker that holds too much makes room for a fresh one, with ${spareWorkers} spare`, async (t) => {
    const aging = await start(t, { maxWorkerMemory, spareWorkers });
    const { dispatcher, call } = aging;
    const threads = new Set<number>();
    // One after another: each thread is seen.
    while (threads.size < 4) threads.add(await call('hold', leak));
    const [first] = threads;
    await until(() => aging.tornDown().includes(first as number));
    await until(() => dispatcher.stats().pool?.workers.length === 1);
    const retired = aging.lines.filter(({ fields }) => fields.event === 'worker-retired');
    assert.ok(retired.length >= 3);
    assert.ok(retired.every(({ fields }) => Number(fields.memory) > maxWorkerMemory));
    const { deaths, kills } = dispatcher.stats().pool!;
    assert.deepEqual({ deaths, kills }, { deaths: 0, kills: 0 });
  });
}

test('calls in flight on the old one end there, and nothing is lost while workers come and go', async (t) => {
  const aging = await start(t, { maxWorkerMemory, workers: 2, maxQueueMs: 60_000 });
  const count = 2000;
  const answers = await Promise.all(
    Array.from({ length: count }, (_, n) => {
      if (n % 200 === 0) return aging.call('hold', leak);
      return aging.call(n % 10 === 0 ? 'whereLater' : 'where');
    }),
  );
  assert.equal(answers.length, count);
  while (new Set(answers).size < 5) answers.push(await aging.call('hold', leak));
  await until(() => aging.dispatcher.stats().pool?.workers.length === 2);
});

test('by default none is ever replaced', async (t) => {
  const aging = await start(t, {});
  const [worker] = aging.dispatcher.stats().pool?.workers ?? [];
  await Promise.all(Array.from({ length: 3000 }, () => aging.call('where')));
  assert.equal(await aging.call('whereLater'), worker?.threadId);
  const events = aging.lines.map(({ fields }) => fields.event);
  assert.deepEqual(events, ['modules-loaded', 'returns-missing']);
});
