import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Broadcast,
  type BroadcastOptions,
  type BroadcastResult,
  createCaller,
  Router,
  RpcApp,
} from '../../src/index.ts';
import { type LogLine, recorder } from '../harness.ts';
import { until } from '../turns.ts';
import { fixture, Running, resultOf } from './running.ts';

const modules = [fixture('broadcasting.ts')];
const groups = { heavy: { workers: 1, spareWorkers: 0 } };
/** The threads of most of these services, as answers name them. */
const places = ['inline', 'worker', 'worker', 'worker:heavy'];

const placesOf = (results: readonly BroadcastResult[]) => results.map(({ place }) => place).sort();
const failures = (results: readonly BroadcastResult[]) =>
  results.flatMap((result) => (result.ok ? [] : [[result.place, result.error]]));

async function ask(running: Running, method: string, params: unknown): Promise<unknown> {
  return resultOf(await running.ask({ method, params, id: 1 }));
}

const ranIn = (running: Running, place: string) => ask(running, `${place}.ran`, {});

describe('broadcast', () => {
  // A worker and its spare: both are told, and the spare takes the place of a worker that is lost.
  const running = Running.suite({ modules, groups, workers: 1, spareWorkers: 1 });
  const { dispatcher } = running;

  test('runs once on the main thread and in each worker, spares included, and answers by place', async () => {
    const results = await dispatcher.broadcast('note', { a: 1 });
    assert.deepEqual(placesOf(results), places);
    assert.equal(results[0]?.place, 'inline');
    const threads = results.map((result) => {
      assert.ok(result.ok);
      const { thread, group, isMainThread } = result.value as Record<string, unknown>;
      const heavy = result.place === 'worker:heavy' ? 'heavy' : undefined;
      assert.deepEqual([group, isMainThread], [heavy, result.place === 'inline']);
      return thread;
    });
    assert.equal(new Set(threads).size, places.length);
    for (const place of ['here', 'worker', 'heavy'])
      assert.deepEqual(await ranIn(running, place), [{ a: 1 }], place);
  });

  test('reaches with group the workers of that group alone', async () => {
    assert.deepEqual(placesOf(await dispatcher.broadcast('nothing', 1, { group: 'heavy' })), [
      'worker:heavy',
    ]);
  });

  test('gives null for a function that returns nothing, and undefined params if there are none', async () => {
    for (const result of await dispatcher.broadcast('nothing'))
      assert.deepEqual(result, { place: result.place, ok: true, value: null });
    const results = await dispatcher.broadcast('slow');
    assert.match(failures(results).join(), /undefined/);
  });

  test('runs from context.broadcast, inline and in a worker', async () => {
    for (const method of ['here.ask', 'worker.ask']) {
      const all = (await ask(running, method, { name: 'nothing' })) as BroadcastResult[];
      assert.deepEqual(placesOf(all), places, method);
      const options = { group: 'heavy' };
      const some = (await ask(running, method, { name: 'nothing', options })) as BroadcastResult[];
      assert.deepEqual(placesOf(some), ['worker:heavy'], method);
      const refused = JSON.parse((await running.ask({ method, params: { name: 'x' }, id: 1 }))!);
      assert.equal(refused.error.code, -32603);
    }
    const isTold = ({ fields }: LogLine): boolean =>
      /no module exports broadcasts\.x/.test(String(fields.detail));
    // The line of the worker's call may come after the reply.
    await until(() => running.lines.filter(isTold).length === 2);
  });

  test('a function that throws is not ok in that thread alone, and one line of the log has its stack', async () => {
    for (const [where, place, group] of [
      ['main', 'inline', undefined],
      ['heavy', 'worker:heavy', 'heavy'],
    ] as const) {
      running.lines.length = 0;
      const results = await dispatcher.broadcast('fail', { where });
      assert.deepEqual(failures(results), [[place, `no room in ${where}`]]);
      const lines = running.lines.filter(({ fields }) => fields.event === 'broadcast-failed');
      assert.equal(lines.length, 1);
      const { level, fields } = lines[0]!;
      assert.deepEqual(
        [level, fields.broadcast, fields.place, fields.group],
        ['error', 'fail', place, group],
      );
      assert.match(String(fields.detail), /no room in .*\n.*broadcasting/);
    }
  });

  test('a value that JSON can not hold is not ok', async () => {
    const results = await dispatcher.broadcast('map');
    const error =
      'it has run, but the value is a Map, not a plain object: take what you need of it';
    assert.deepEqual(
      failures(results).map(([, text]) => text),
      places.map(() => error),
    );
  });

  test('a busy worker runs it after its call, and is not ok if the time is over before', async () => {
    const before = (await ranIn(running, 'worker')) as unknown[];
    const held = running.call('hold', 'held');
    await running.begunOn('held');
    const late = await dispatcher.broadcast('note', 'late', { timeoutMs: 20 });
    // On a busy machine other threads may be late, too.
    const errors = failures(late).map(([place, error]) => `${place}: ${error}`);
    assert.ok(errors.some((text) => text.startsWith('worker: no answer after 20 ms: ')));
    const patient = dispatcher.broadcast('note', 'later');
    running.release();
    assert.deepEqual(failures(await patient), []);
    await held;
    assert.deepEqual(await ranIn(running, 'worker'), [...before, 'late', 'later']);
  });

  test('a function that never ends holds up those of its name until its time is over, and no others', async () => {
    const [first, second, other] = await Promise.all([
      dispatcher.broadcast('never', 1, { timeoutMs: 50 }),
      dispatcher.broadcast('never', 2, { timeoutMs: 200 }),
      dispatcher.broadcast('nothing'),
    ]);
    for (const results of [first, second]) {
      const late = failures(results).filter(([place]) => place !== 'inline');
      assert.equal(late.length, places.length - 1);
    }
    assert.deepEqual(failures(other), []);
  });

  test('those of one name run in the order of their calls, also asynchronous ones', async () => {
    const { gate } = running.journal;
    const texts = Array.from({ length: 8 }, (_, i) => `slow ${i}`);
    // The later it is called, the less it takes.
    const all = texts.map((text, i) =>
      dispatcher.broadcast('slow', { gate, text, ms: texts.length - i }),
    );
    running.release();
    for (const results of await Promise.all(all)) assert.deepEqual(failures(results), []);
    for (const place of ['here', 'worker', 'heavy']) {
      const ran = (await ranIn(running, place)) as unknown[];
      assert.deepEqual(
        ran.filter((text) => String(text).startsWith('slow ')),
        texts,
        place,
      );
    }
  });

  test('a worker that ends meanwhile is not ok, and its replacement is given what is replayed', async () => {
    await dispatcher.broadcast('note', 'old', { replay: 'last' });
    await dispatcher.broadcast('note', 'kept', { replay: 'last' });
    const results = await dispatcher.broadcast('die');
    assert.deepEqual(failures(results), [['worker:heavy', 'its thread ended before it answered']]);
    // Asked before its first call: the call waits for the replacement.
    assert.deepEqual(await ranIn(running, 'heavy'), ['kept']);
  });

  for (const [what, given, says] of [
    [
      'a name that no module exports',
      ['notes', 1],
      /^broadcast: no module exports broadcasts\.notes: there are note, slow, .*; did you mean note\?$/,
    ],
    ['a name that is inherited', ['toString'], /no module exports broadcasts\.toString/],
    [
      'a name that is no string',
      [Symbol.iterator],
      /^broadcast: the name must be a string, not symbol$/,
    ],
    [
      'a group without workers',
      ['note', 1, { group: 'heavi' }],
      /no group "heavi" has workers: there are heavy; did you mean heavy\?$/,
    ],
    [
      'an option that nobody knows',
      ['note', 1, { timeout: 5 }],
      /unknown option "timeout"; did you mean timeoutMs\?/,
    ],
    [
      'a time that is none',
      ['note', 1, { timeoutMs: Number.NaN }],
      /timeoutMs must be milliseconds above 0, at most 2147483647, got NaN/,
    ],
    [
      'a time that is text',
      ['note', 1, { timeoutMs: '5' }],
      /timeoutMs must be milliseconds above 0, at most 2147483647, got "5"/,
    ],
    ['a replay that is not last', ['note', 1, { replay: true }], /replay must be 'last', got true/],
    [
      'a Map',
      ['note', { a: [new Map()] }],
      /^broadcast: params\.a\[0\] is a Map, not a plain object/,
    ],
    ['a number that JSON lacks', ['note', Number.NaN], /params is NaN, which JSON cannot hold/],
    ['a function', ['note', { run() {} }], /params\.run is a function, which JSON cannot hold/],
  ] as const) {
    test(`refuses ${what}, and runs nothing`, async () => {
      const before = await ranIn(running, 'here');
      const [name, params, more] = given as readonly unknown[];
      await assert.rejects(dispatcher.broadcast(name as string, params, more as BroadcastOptions), {
        message: says,
      });
      assert.deepEqual(await ranIn(running, 'here'), before);
    });
  }
});

test('broadcast starts the service, refuses params beyond maxBodyBytes, and is refused when it is closed', async (t) => {
  const { log } = recorder();
  const limits = { workers: 1, spareWorkers: 0, maxBodyBytes: 2048 };
  const app = new RpcApp({ modules, groups, log, ...limits });
  t.after(() => app.close());
  assert.deepEqual(placesOf(await app.broadcast('nothing')), ['inline', 'worker', 'worker:heavy']);
  await assert.rejects(app.broadcast('note', 'x'.repeat(3000)), {
    name: 'TypeError',
    message: 'broadcast: params are longer than maxBodyBytes (2048)',
  });
  await app.close();
  await assert.rejects(app.broadcast('nothing'), /^Error: broadcast: the service is closed$/);
});

test('broadcast of a router that no module exports says what to do', async (t) => {
  const router = new Router();
  router.rpc({ name: 'ask', async: true }, (_params, { broadcast }) => broadcast('note'));
  const running = Running.make(t, { modules: undefined, router });
  const says = /a router that is given as an object has no broadcasts: serve its module/;
  await assert.rejects(running.dispatcher.broadcast('note'), says);
  const faults: string[] = [];
  const caller = createCaller(router, { onFault: ({ detail }) => faults.push(detail) });
  await assert.rejects(caller.call('ask'));
  assert.match(faults.join(), /context\.broadcast: no service runs this call/);
});

test('createCaller takes a function for context.broadcast', async () => {
  const router = new Router();
  router.rpc({ name: 'tell', async: true }, (params, { broadcast }) => broadcast('note', params));
  const told: unknown[] = [];
  const broadcast: Broadcast = async (name, params) => {
    told.push([name, params]);
    return [{ place: 'inline', ok: true, value: null }];
  };
  const caller = createCaller(router, { broadcast });
  assert.deepEqual(await caller.call('tell', { level: 3 }), [
    { place: 'inline', ok: true, value: null },
  ]);
  assert.deepEqual(told, [['note', { level: 3 }]]);
  assert.throws(
    () => createCaller(router, { broadcast: 'note' as never }),
    /option broadcast must be a function, got "note"/,
  );
});
