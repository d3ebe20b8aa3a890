import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher, Router, StartupError } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { refusal, refusalOf } from '../refusal.ts';
import { shortTimersHaveFired } from '../short-timers.ts';
import { until } from '../turns.ts';
import { cancelled, fixture, isSettled, lost, ok, Running, resultOf } from './running.ts';

describe('start', () => {
  test('ready() starts once, and a call before it waits', async (t) => {
    const running = Running.make(t, { workers: 2 });
    const { dispatcher } = running;
    assert.equal(dispatcher.state, 'starting');
    assert.deepEqual(dispatcher.stats().pool, undefined);
    const calls = [
      running.call('in.count', 'a'),
      running.call('out.count', 'b'),
      dispatcher.dispatch({ method: 'out.count', params: [running.journal.file, 'c'], id: 1 }),
    ];
    assert.equal(dispatcher.ready(), dispatcher.ready());
    const [a, b, c] = await Promise.all(calls);
    assert.equal(a, ok('a', 'a'));
    assert.equal(b, ok('b', 'b'));
    assert.deepEqual(c, { jsonrpc: '2.0', id: 1, result: 'c' });
    assert.equal(dispatcher.state, 'ready');
    assert.equal(new Set(running.threads).size, 2);
    for (const name of ['nowhere', '__proto__'])
      assert.equal(dispatcher.placementOf(name), undefined);
  });

  test('the router of a service with modules takes no middleware, and reloads the replicas too', async (t) => {
    const { dispatcher } = await Running.start(t, { workers: 1 });
    const { router } = dispatcher;
    // The types say so too: AnyRouter has no use().
    const use = (): unknown => (router as Router).use((_context, next) => next());
    assert.throws(use, /use: .* call use on the router of a module/);
    assert.equal(await router.reloadModule(fixture('procedures.ts')), false);
    await assert.rejects(router.reloadModule('./nowhere.js'), /nowhere\.js/);
  });
});

describe('close', () => {
  test('is idempotent, and calls after it are cancelled', async (t) => {
    const running = await Running.start(t);
    const { dispatcher } = running;
    const closing = dispatcher.close();
    assert.equal(dispatcher.close(), closing);
    await closing;
    assert.equal(dispatcher.close(), closing);
    assert.equal(dispatcher.state, 'closed');
    for (const place of ['in', 'out']) {
      assert.equal(await running.call(`${place}.count`, 'a'), cancelled('a'));
      const request = { method: `${place}.count`, params: [running.journal.file, 'b'] };
      assert.equal(await running.ask(request), undefined);
      assert.deepEqual(await dispatcher.dispatch([{ ...request, id: 7 }]), [
        JSON.parse(cancelled('a').replace('"a"', '7')),
      ]);
    }
    assert.deepEqual(running.journal.lines(), []);
    assert.match((await dispatcher.dispatchText('{"a":')) ?? '', /-32700/);
    assert.match((await dispatcher.dispatchText('[]')) ?? '', /-32600/);
  });

  test('while it starts: the start fails, and nothing is left', async (t) => {
    const running = Running.make(t);
    const starting = running.dispatcher.ready();
    const failed = assert.rejects(starting, StartupError);
    await running.dispatcher.close();
    await failed;
    assert.equal(running.dispatcher.state, 'closed');
    await assert.rejects(running.dispatcher.ready(), StartupError);
  });

  test('what was accepted is answered: running, waiting, in batches, in both places', async (t) => {
    const running = await Running.start(t, { workers: 2 });
    const { dispatcher, journal } = running;
    const { file } = journal;
    const holding = ['h1', 'h2'].map((text) => running.call('hold', text));
    await Promise.all([running.begunOn('h1'), running.begunOn('h2')]);
    const batch = ['hold', 'in.count', 'out.count', 'out.count', 'in.count'].map((method, i) => ({
      method,
      params: { file, text: `b${i}` },
      id: `b${i}`,
    }));
    const waiting = [
      ...['a', 'b', 'c'].map((text) => running.call('out.count', text)),
      running.ask(batch),
    ];
    await until(() => dispatcher.stats().inFlight === 6);
    const closing = dispatcher.close();
    assert.equal(dispatcher.state, 'draining');
    assert.equal(await isSettled(closing), false);
    running.release();
    const replies = await Promise.all([...holding, ...waiting]);
    assert.deepEqual(replies, [
      ...['h1', 'h2', 'a', 'b', 'c'].map((text) => ok(text, text)),
      `[${batch.map(({ id }) => ok(id, id)).join(',')}]`,
    ]);
    await closing;
    assert.equal(dispatcher.state, 'closed');
  });

  test('a grace beyond what a timer takes lets calls take as long as they take', async (t) => {
    const running = await Running.start(t);
    const { dispatcher } = running;
    const holding = running.call('hold', 'h');
    await running.begunOn('h');
    const closing = dispatcher.close(2 ** 31);
    await shortTimersHaveFired();
    assert.equal(await isSettled(closing), false);
    running.release();
    assert.equal(await holding, ok('h', 'h'));
    await closing;
  });

  test('after the grace: what runs is lost, what waits is cancelled', async (t) => {
    const running = await Running.start(t);
    const { dispatcher, journal } = running;
    const inline = running.call('in.untilAborted', 'inline');
    const pooled = running.call('out.hangForLong', 'pooled');
    await running.begunOn('pooled');
    const holding = running.call('hold', 'h');
    await running.begunOn('h');
    const waiting = ['a', 'b'].map((text) => running.call('out.count', text));
    await until(() => dispatcher.stats().inFlight === 5);
    const closing = dispatcher.close(20);
    assert.equal(await inline, lost('inline', 'shutdown'));
    assert.equal(await pooled, lost('pooled', 'shutdown'));
    assert.equal(await holding, lost('h', 'shutdown'));
    assert.deepEqual(await Promise.all(waiting), ['a', 'b'].map(cancelled));
    await closing;
    await journal.until('inline aborted -32002 on 0');
    assert.equal(journal.count('a') + journal.count('b'), 0);
  });

  test('does not wait for a call that was answered at its deadline and never ends', async (t) => {
    // Longer than any test may take.
    const running = await Running.start(t, { shutdownGraceMs: 600_000 });
    for (const place of ['in', 'out']) {
      assert.match((await running.call(`${place}.hang`, place)) ?? '', /-32001/);
    }
    await running.dispatcher.close();
  });
});

describe('a router without modules', () => {
  const sync = { name: 'sync' };

  test('runs everything inline, and one warning names the synchronous procedures', async (t) => {
    const router = new Router();
    router.rpc(sync, () => 1);
    router.rpc({ name: 'async' }, async () => 2);
    router.rpc({ name: 'said', placement: 'inline' }, () => 3);
    const { dispatcher, lines } = await TestService.start(t, { router });
    const warnings = lines.filter(({ level }) => level === 'warn');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.message ?? '', /\bsync\b/);
    assert.doesNotMatch(warnings[0]?.message ?? '', /\bsaid\b/);
    const batch = ['sync', 'async', 'said'].map((method, id) => ({ method, id }));
    const replies = await dispatcher.dispatchText(JSON.stringify(batch));
    assert.deepEqual(
      (JSON.parse(replies ?? '') as { result: number }[]).map(({ result }) => result),
      [1, 2, 3],
    );
    assert.equal(dispatcher.stats().pool, undefined);
    for (const { place } of Object.values(dispatcher.stats().placement)) {
      assert.equal(place, 'inline');
    }
    assert.equal(lines.length, 1);
  });

  test('no warning where nothing would block', async (t) => {
    const router = new Router();
    router.rpc({ name: 'async' }, async () => 2);
    router.rpc({ name: 'said', placement: 'inline' }, () => 3);
    const { lines } = await TestService.start(t, { router });
    assert.deepEqual(lines, []);
  });

  test("placement 'worker' is a start-up error that names the procedure", async () => {
    const router = new Router();
    router.rpc({ name: 'heavy', placement: 'worker' }, () => 1);
    const { dispatcher } = new TestService({ router });
    assert.match(await refusalOf(dispatcher.ready()), /heavy/);
    await assert.rejects(dispatcher.dispatchText('{"method":"heavy","id":1}'), StartupError);
    await dispatcher.close();
  });
});

test('options that cannot be are one line', () => {
  const router = new Router();
  for (const [options, named] of [
    [{}, /modules/],
    [{ modules: [] }, /modules/],
    [{ modules: [''] }, /modules/],
    [{ router, modules: ['./a.js'] }, /modules.*router/],
    [{ router: {} as Router }, /router/],
    [{ router, workers: 0 }, /workers/],
    [{ router, wrokers: 2 } as object, /wrokers/],
  ] as const) {
    assert.match(
      refusal(() => new Dispatcher(options)),
      named,
    );
  }
});

test('what a handler is told is the same in both places', async (t) => {
  const running = Running.make(t);
  const facts = { headers: { 'x-a': 'é' }, remoteAddress: '10.0.0.1', auth: { user: [1, null] } };
  for (const place of ['in', 'out']) {
    const request = { method: `${place}.context`, id: 'x' };
    assert.deepEqual(resultOf(await running.ask(request, facts)), {
      id: 'x',
      method: `${place}.context`,
      ...facts,
    });
    assert.deepEqual(resultOf(await running.ask(request)), {
      id: 'x',
      method: `${place}.context`,
      headers: {},
    });
  }
});
