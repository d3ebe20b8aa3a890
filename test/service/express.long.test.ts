import assert from 'node:assert/strict';
import { before, describe, type TestContext, test } from 'node:test';
import type { DispatcherOptions } from '../../src/index.ts';
import { until } from '../turns.ts';
import { expired, fixture, isSettled, ok, Running, resultOf } from './running.ts';

/** What is held here is held for as long as the test takes, which is long on a busy machine. */
const untimed = { timeoutMs: 600_000, maxRequestMs: 600_000 } as const;

const modules = [fixture('procedures.ts'), fixture('express.ts')];
const defaults = { modules, spareWorkers: 1, ...untimed };

/** One worker and its express worker; `short` and what else the tests send there is known. */
class ExpressWorker {
  readonly running: Running;
  #id = 0;

  constructor(running: Running) {
    this.running = running;
  }

  static async start(t: TestContext, options: DispatcherOptions = {}): Promise<ExpressWorker> {
    const express = new ExpressWorker(Running.make(t, { ...defaults, ...options }));
    await express.running.dispatcher.ready();
    if (options.spareWorkers !== 0) await express.opened();
    await express.#learn();
    return express;
  }

  /** One that the tests of a suite share: no short call of theirs takes long, and none ends a thread. */
  static suite(): ExpressWorker {
    const express = new ExpressWorker(Running.suite(defaults));
    before(async () => {
      await express.opened();
      await express.#learn();
    });
    return express;
  }

  async #learn(): Promise<void> {
    // More than one: the machine may hold up the first ones for longer than short calls take.
    for (let i = 0; i < 30; i++) {
      await this.short();
      await this.short({ method: 'shortWithLimit' });
    }
  }

  get #pool() {
    const { pool } = this.running.dispatcher.stats();
    assert.ok(pool !== undefined);
    return pool;
  }

  get stats() {
    return this.#pool.express;
  }

  /** Calls that the express worker has taken, as the metrics tell. */
  get calls(): number {
    return this.running.dispatcher.metrics?.snapshot().counters.expressCalls ?? Number.NaN;
  }

  get kills(): number {
    return this.#pool.kills;
  }

  /** The thread of the express worker, once it is open. */
  async opened(): Promise<number> {
    await until(() => this.stats !== undefined);
    return this.stats?.threadId as number;
  }

  /** The reply to a call of a procedure of the fixture. */
  ask({ method = 'short', text = 'some', hold = false } = {}): Promise<string | undefined> {
    const { file } = this.running.journal;
    return this.running.ask({ method, params: { file, text, hold }, id: text });
  }

  /** The thread that answered. */
  async short(options: { method?: string } = {}): Promise<number> {
    return resultOf(await this.ask({ ...options, text: `n${this.#id++}` })) as number;
  }

  /** A long call holds the worker, until the gate opens. */
  async hold(text = 'long'): Promise<{ readonly reply: Promise<string | undefined> }> {
    const reply = this.running.call('hold', text);
    assert.equal(await this.running.begunOn(text), this.running.threads[0]);
    return { reply };
  }
}

describe('the express worker', () => {
  const express = ExpressWorker.suite();

  test('short calls are answered while a long one holds the only worker, and long ones wait', async () => {
    const { running } = express;
    const [worker] = running.threads;
    const spare = await express.opened();
    const { reply: long } = await express.hold();
    const second = running.call('hold', 'second');
    const unknown = running.ask({ method: 'out.thread', id: 1 });
    // On a busy machine the express worker may have taken some of the first calls.
    const [completed, expressCalls] = [express.stats?.completed ?? 0, express.calls];
    const threads = await Promise.all(Array.from({ length: 100 }, () => express.short()));
    assert.deepEqual(new Set(threads), new Set([spare]));
    assert.ok(spare !== worker);
    // One after another, too.
    for (let i = 0; i < 10; i++) assert.equal(await express.short(), spare);
    for (const waits of [long, second, unknown]) assert.equal(await isSettled(waits), false);
    assert.equal(running.journal.lines().includes(`second begins on ${spare}`), false);
    assert.equal(express.stats?.completed, completed + 110);
    assert.equal(express.calls, expressCalls + 110);
    assert.equal(express.stats?.inFlight, 0);
    running.release();
    assert.deepEqual(await Promise.all([long, second]), [
      ok('long', 'long'),
      ok('second', 'second'),
    ]);
    assert.equal(await running.begunOn('second'), worker);
    assert.equal(resultOf(await unknown), worker);
    // A worker that is free is asked first.
    assert.equal(await express.short(), worker);
  });

  test('a group of a batch goes to the express worker as a whole and in order, if it is short as a whole', async () => {
    const { running } = express;
    const { file } = running.journal;
    const spare = await express.opened();
    const { reply } = await express.hold();
    const batch = (names: readonly string[]) =>
      running.ask(
        names.map((text) => ({ method: 'short', params: { file, text, hold: false }, id: text })),
      );
    const answers = JSON.parse((await batch(['a', 'b', 'c'])) ?? '') as { result: number }[];
    assert.deepEqual(
      answers.map(({ result }) => result),
      [spare, spare, spare],
    );
    const ran = running.journal.lines().filter((line) => /^[abc] /.test(line));
    assert.deepEqual(
      ran,
      ['a', 'b', 'c'].map((text) => `${text} begins on ${spare}`),
    );
    const mixed = running.ask([
      { method: 'short', params: { file, text: 'd', hold: false }, id: 'd' },
      { method: 'hold', params: { file, text: 'e' }, id: 'e' },
    ]);
    // What comes later is answered: the batch was looked at and waits.
    assert.equal(await express.short(), spare);
    assert.equal(await isSettled(mixed), false);
    running.release();
    await Promise.all([reply, mixed]);
    assert.equal(await running.begunOn('d'), running.threads[0]);
  });

  test('a caller that leaves is noticed on the express worker', async () => {
    const { running } = express;
    const spare = await express.opened();
    for (let n = 0; n < 30; n++) {
      const gone = new AbortController();
      const reply = running.call('out.untilAborted', `known ${n}`, { signal: gone.signal });
      await running.begunOn(`known ${n}`);
      gone.abort();
      await reply;
    }
    const { reply: long } = await express.hold();
    const gone = new AbortController();
    const waits = running.call('out.untilAborted', 'waits', { signal: gone.signal });
    assert.equal(await running.begunOn('waits'), spare);
    assert.equal(express.stats?.inFlight, 1);
    gone.abort();
    assert.equal(await waits, ok('waits', -32003));
    running.release();
    await long;
  });
});

test('a short call that turns out long closes the express worker until it ends, and lets go of what waits behind it', async (t) => {
  const express = await ExpressWorker.start(t);
  const { running } = express;
  const spare = await express.opened();
  const { reply: long } = await express.hold();
  const slow = express.ask({ method: 'shortWithLimit', text: 'slow', hold: true });
  const behind = Array.from({ length: 20 }, (_, n) => express.ask({ text: `behind ${n}` }));
  assert.equal(await running.begunOn('slow'), spare);
  assert.equal(await slow, expired('slow', 300));
  const answers = await Promise.all(behind);
  assert.equal(express.kills, 1);
  assert.equal(await isSettled(long), false);
  const next = await express.opened();
  assert.ok(next !== spare);
  // Those that had begun before it are answered by its thread, the others by the next spare: each has run once.
  for (const answer of answers) assert.ok([spare, next].includes(resultOf(answer) as number));
  for (let n = 0; n < 20; n++) {
    const runs = running.journal.lines().filter((line) => line.startsWith(`behind ${n} `));
    assert.equal(runs.length, 1);
  }
  running.release();
  assert.equal(await long, ok('long', 'long'));
});

test('the spare takes the place of a lost worker with what runs on it', async (t) => {
  const express = await ExpressWorker.start(t);
  const { running } = express;
  const { file } = running.journal;
  const spare = await express.opened();
  const spins = running.ask({
    method: 'spin',
    params: { file, text: 'spins', spin: true },
    id: 's',
  });
  await running.begunOn('spins', 'spins');
  const stays = express.ask({ text: 'stays', hold: true });
  assert.equal(await running.begunOn('stays'), spare);
  assert.equal(await spins, expired('s', 200));
  assert.deepEqual(running.threads, [spare]);
  // It is now what holds the worker: short calls take the express worker again once there is one.
  const next = await express.opened();
  assert.ok(next !== spare);
  assert.equal(await express.short(), next);
  assert.equal(await isSettled(stays), false);
  running.release();
  assert.equal(resultOf(await stays), spare);
  assert.equal(running.journal.lines().filter((line) => line.startsWith('stays ')).length, 1);
});

test('a spare that holds too much memory gives way to a fresh one', async (t) => {
  const express = await ExpressWorker.start(t, { maxWorkerMemory: 200 * 1024 ** 2 });
  const { running } = express;
  const { reply: long } = await express.hold();
  const seen = new Set<number>();
  while (seen.size < 3) seen.add(resultOf(await express.ask({ text: 'leak' })) as number);
  const retired = running.lines.filter(({ fields }) => fields.event === 'worker-retired');
  assert.ok(retired.length >= 2);
  assert.equal(express.kills, 0);
  assert.equal(await isSettled(long), false);
  running.release();
  assert.equal(await long, ok('long', 'long'));
});

test('without a spare there is no express', async (t) => {
  const express = await ExpressWorker.start(t, { spareWorkers: 0 });
  const { running } = express;
  const { reply: long } = await express.hold();
  const short = express.ask({ text: 'waits' });
  // A call in this thread comes later, and goes through.
  await running.call('in.count', 'later');
  await until(() => running.dispatcher.stats().pool?.queued === 1);
  assert.equal(express.stats, undefined);
  running.release();
  await long;
  assert.equal(resultOf(await short), running.threads[0]);
});
