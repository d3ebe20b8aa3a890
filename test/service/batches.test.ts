import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallEvent, createCaller, procedure, Router } from '../../src/index.ts';
import type { LogLine } from '../harness.ts';
import { callUntilNamed } from './front-end.ts';
import { fixture, Running, resultOf } from './running.ts';

const modules = [fixture('procedures.ts'), fixture('costly.ts'), fixture('batches.ts')];

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

async function started(
  t: Parameters<typeof Running.make>[0],
  options: Parameters<typeof Running.make>[1] = {},
): Promise<Running> {
  const running = Running.make(t, { modules, ...options });
  await running.dispatcher.ready();
  return running;
}

/** Calls that come in one turn of the event loop. */
async function all(running: Running, method: string, count: number): Promise<Reply[]> {
  const { file } = running.journal;
  const calls = Array.from({ length: count }, (_, id) =>
    running.dispatcher.dispatch({ method, params: { file, text: `${id}` }, id }),
  );
  return (await Promise.all(calls)) as Reply[];
}

const results = (replies: readonly Reply[]): unknown[] => replies.map(({ result }) => result);

const lineOf = (lines: readonly LogLine[], event: string): LogLine[] =>
  lines.filter(({ fields }) => fields.event === event);

test('handler batches are counted by procedure and place, and each call tells how many ran with it', async (t) => {
  const events: CallEvent[] = [];
  const running = await started(t, { onCall: (event) => events.push(event), accessLog: true });
  await all(running, 'read', 5);
  await all(running, 'readHere', 3);
  await all(running, 'read', 1);
  const text = (await running.dispatcher.metrics?.text()) ?? '';
  for (const line of [
    '_bucket{procedure="readHere",place="inline",le="2"} 0',
    '_bucket{procedure="readHere",place="inline",le="4"} 1',
    '_sum{procedure="readHere",place="inline"} 3',
    '_bucket{procedure="read",place="worker",le="1"} 1',
    '_bucket{procedure="read",place="worker",le="+Inf"} 2',
    '_sum{procedure="read",place="worker"} 6',
    '_count{procedure="read",place="worker"} 2',
  ]) {
    assert.ok(text.includes(`\ntandem_handler_batch_calls${line}\n`), line);
  }
  const told = events.map(({ method, handlerBatch }) => `${method} ${handlerBatch}`);
  assert.deepEqual(told.toSorted(), [
    'read 1',
    ...Array(5).fill('read 5'),
    ...Array(3).fill('readHere 3'),
  ]);
  const lines = lineOf(running.lines, 'call');
  assert.deepEqual(
    lines.map(({ fields }) => Number(fields.handlerBatch)).toSorted((a, b) => a - b),
    [1, 3, 3, 3, 5, 5, 5, 5, 5],
  );
});

test('calls of a JSON-RPC batch are handler batches of one, unless overlapReads or batchConcurrency lets them join', async (t) => {
  for (const [options, sizes] of [
    [{}, [1, 1, 1]],
    [{ overlapReads: true }, [3, 3, 3]],
    [{ batchConcurrency: 3 }, [3, 3, 3]],
  ] as const) {
    const running = await started(t, options);
    const { file } = running.journal;
    for (const method of ['read', 'readHere']) {
      const batch = [1, 2, 3].map((id) => ({ method, params: { file, text: 'x' }, id }));
      const replies = JSON.parse((await running.ask(batch)) ?? '') as Reply[];
      assert.deepEqual(results(replies), sizes, `${method} ${JSON.stringify(options)}`);
    }
  }
});

test('what waits is shared out among idle workers', async (t) => {
  const running = await started(t, { workers: 2 });
  const replies = await all(running, 'thread', 32);
  const threads = new Set(results(replies));
  assert.deepEqual(
    [...threads].map((text) => String(text).split(' ')[1]),
    ['16', '16'],
  );
});

test('a caller of one call waits for two runs at most beside a caller of many', async (t) => {
  const running = await started(t);
  const { journal } = running;
  // What a call costs is known then.
  for (let i = 0; i < 10; i++) await all(running, 'together', 1);
  journal.clear();
  const held = running.call('hold', 'held');
  await running.begunOn('held');
  const many = Array.from({ length: 200 }, (_, i) =>
    running.call('together', `many ${i}`, { remoteAddress: '192.0.2.1' }),
  );
  const one = running.call('together', 'one', { remoteAddress: '192.0.2.2' });
  running.release();
  await Promise.all([held, one, ...many]);
  const lines = journal.lines().filter((line) => !line.startsWith('held'));
  assert.ok(lines.indexOf('one') < 16, `it ran after ${lines.indexOf('one')} calls`);
  assert.equal(lines.length, 201);
});

test('the express lane takes handler batches of 8 ms at most', async (t) => {
  const running = await started(t, { spareWorkers: 1 });
  const { dispatcher } = running;
  for (let i = 0; i < 10; i++) await all(running, 'manyTogether', 1);
  const held = running.call('hold', 'held');
  await running.begunOn('held');
  // What holds a worker for longer than a short call may take, opens the lane.
  while ((dispatcher.stats().pool?.workers[0]?.running?.ms ?? 0) <= 8) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (dispatcher.stats().pool?.lane === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const sizes = results(await all(running, 'manyTogether', 40)).map(Number);
  assert.equal(dispatcher.metrics?.snapshot().counters.laneCalls, 40);
  // Each call takes a millisecond or more.
  assert.ok(Math.max(...sizes) <= 8, sizes.join());
  running.release();
  await held;
});

test('callers of a batch procedure that runs inline take turns', async (t) => {
  const running = await started(t);
  const many = Array.from({ length: 20 }, (_, i) =>
    running.call('pairs', `many ${i}`, { remoteAddress: '192.0.2.1' }),
  );
  const one = running.call('pairs', 'one', { remoteAddress: '192.0.2.2' });
  const left = running.call('pairs', 'left', {
    remoteAddress: '192.0.2.3',
    signal: AbortSignal.abort(),
  });
  await Promise.all([one, left, ...many]);
  const lines = running.journal.lines();
  assert.ok(lines.indexOf('one') < 2, lines.join());
  const order = lines.filter((line) => line !== 'one');
  assert.deepEqual(
    order,
    Array.from({ length: 20 }, (_, i) => `many ${i}`),
  );
});

test('each caller pays for its own calls, whoever stands in line for them', async (t) => {
  const running = await started(t);
  const { journal } = running;
  for (let i = 0; i < 10; i++) {
    await all(running, 'together', 1);
    await all(running, 'costly', 1);
  }
  journal.clear();
  const held = running.call('hold', 'held');
  await running.begunOn('held');
  const many = Array.from({ length: 300 }, (_, i) =>
    running.call('together', `many ${i}`, { remoteAddress: '192.0.2.1' }),
  );
  const others = Array.from({ length: 40 }, (_, i) =>
    running.call('costly', `other ${i}`, { remoteAddress: '192.0.2.2' }),
  );
  running.release();
  await Promise.all([held, ...many, ...others]);
  const lines = journal.lines().filter((line) => !line.startsWith('held'));
  const before = lines
    .slice(0, lines.lastIndexOf('other 39'))
    .filter((line) => line.startsWith('many'));
  // 40 calls of about 2 ms, beside calls of about 1 ms: about as much time for both callers.
  assert.ok(before.length < 200, `${before.length} calls of the other caller ran before`);
});

test('the fault of a run is one line, with the number of its calls', async (t) => {
  const running = await started(t);
  const replies = await all(running, 'fails', 3);
  const [line, ...others] = lineOf(running.lines, 'call-failed');
  assert.deepEqual(others, []);
  assert.equal(line?.fields.calls, 3);
  for (const { error } of replies) {
    assert.equal(error?.code, -32603);
    assert.deepEqual(error.data, { ref: line?.fields.ref });
  }
});

test('the log of a handler batch names its procedure, and no call', async (t) => {
  const running = await started(t);
  await all(running, 'logs', 2);
  const [line] = lineOf(running.lines, 'procedure-log');
  assert.deepEqual(
    [line?.fields.method, line?.fields.id, line?.fields.fields, line?.message],
    ['logs', undefined, { calls: 2 }, 'many at once'],
  );
});

test('a batch procedure that holds the main thread is named', async (t) => {
  const running = await started(t);
  await callUntilNamed(running.dispatcher, 'blocks', 1);
  const [line] = lineOf(running.lines, 'front-end-blocked');
  assert.equal(line?.fields.method, 'blocks');
});

test('createCaller and notifications are ordinary calls', async (t) => {
  const running = await started(t);
  const size = procedure({ batch: { max: 8 } }, (params) => params.map(() => params.length));
  const caller = createCaller(Router.from({ size }));
  assert.deepEqual(await Promise.all([caller.size({}), caller.size({})]), [2, 2]);
  const { file } = running.journal;
  const quiet = running.ask({ method: 'together', params: { file, text: 'quiet' } });
  const loud = running.call('together', 'loud');
  assert.equal(await quiet, undefined);
  assert.equal(resultOf(await loud), 2);
});

for (const place of ['inline', 'worker']) {
  test(`a light call waits for few heavy calls of another caller of its batch procedure, ${place}`, async (t) => {
    const running = await started(t);
    const { journal } = running;
    // What a call costs is known then.
    for (let i = 0; i < 4; i++) await all(running, `${place}.heavy`, 2);
    journal.clear();
    const many = Array.from({ length: 24 }, (_, i) =>
      running.call(`${place}.heavy`, `many ${i}`, { remoteAddress: '192.0.2.1' }),
    );
    const one = running.call(`${place}.heavy`, 'one', { remoteAddress: '192.0.2.2' });
    const replies = await Promise.all([one, ...many]);
    const sizes = replies.map((reply) => Number(resultOf(reply)));
    assert.ok(Math.max(...sizes) <= 8, sizes.join());
    assert.ok(journal.lines().indexOf('one') < 16, journal.lines().join());
    assert.equal(journal.lines().length, 25);
  });

  test(`a batch handler that takes as long for many calls as for one is given all that wait, ${place}`, async (t) => {
    const running = await started(t);
    for (let i = 0; i < 4; i++) await all(running, `${place}.scan`, 1);
    let sizes: unknown[] = [];
    for (let i = 0; i < 12; i++) sizes = results(await all(running, `${place}.scan`, 64));
    assert.deepEqual(sizes, Array(64).fill(64));
  });

  for (const method of ['odd', 'oddLater']) {
    test(`an element that throws when it is read is the -32603 of its call at once: ${place}.${method}`, async (t) => {
      const running = await started(t);
      const thread = results(await all(running, `${place}.${method}`, 1))[0];
      for (const text of ['getter', 'proxy', 'all']) {
        const texts = text === 'all' ? [text, text, text] : ['fine', text, 'fine'];
        const calls = texts.map((one) =>
          running.dispatcher.dispatch({
            method: `${place}.${method}`,
            params: { file: '', text: one },
            id: 1,
          }),
        );
        const ends = ((await Promise.all(calls)) as Reply[]).map(
          ({ result, error }) => result ?? error?.code,
        );
        const expected = texts.map((one) => (one === 'fine' ? thread : -32603));
        assert.deepEqual(ends, expected, text);
      }
      assert.deepEqual(results(await all(running, `${place}.${method}`, 1)), [thread]);
    });
  }
}
