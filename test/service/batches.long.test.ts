import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallEvent, createCaller, procedure, Router } from '../../src/index.ts';
import type { LogLine } from '../harness.ts';
import { until } from '../turns.ts';
import { all, type Reply, results, started } from './batching.ts';
import { callUntilNamed } from './main-thread.ts';
import { resultOf } from './running.ts';

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
  const framedCalls = () => running.dispatcher.metrics?.snapshot().counters.framedCalls ?? 0;
  let replies: Reply[];
  let before: number;
  do {
    before = framedCalls();
    replies = await all(running, 'thread', 32);
    // More: the machine held a worker up, and the other one ran its calls.
  } while (framedCalls() !== before + 32);
  const threads = new Set(results(replies));
  assert.deepEqual(
    [...threads].map((text) => String(text).split(' ')[1]),
    ['16', '16'],
  );
});

test('the fault of a run is one line, with the number of its calls', async (t) => {
  const running = await started(t);
  const replies = await all(running, 'fails', 3);
  // A worker's notice may be read behind its results.
  await until(() => lineOf(running.lines, 'call-failed').length > 0);
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
  await until(() => lineOf(running.lines, 'procedure-log').length > 0);
  const [line] = lineOf(running.lines, 'procedure-log');
  assert.deepEqual(
    [line?.fields.method, line?.fields.id, line?.fields.fields, line?.message],
    ['logs', undefined, { calls: 2 }, 'many at once'],
  );
});

test('a batch procedure that holds the main thread is named', async (t) => {
  const running = await started(t);
  await callUntilNamed(running.dispatcher, 'blocks', 1);
  const [line] = lineOf(running.lines, 'main-thread-blocked');
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

test('an element that throws when it is read is the -32603 of its call at once', async (t) => {
  const running = await started(t);
  for (const name of ['inline.odd', 'inline.oddLater', 'worker.odd', 'worker.oddLater']) {
    await t.test(name, async () => {
      const thread = results(await all(running, name, 1))[0];
      for (const text of ['getter', 'proxy', 'all']) {
        const texts = text === 'all' ? [text, text, text] : ['fine', text, 'fine'];
        const calls = texts.map((one) =>
          running.dispatcher.dispatch({ method: name, params: { file: '', text: one }, id: 1 }),
        );
        const ends = ((await Promise.all(calls)) as Reply[]).map(
          ({ result, error }) => result ?? error?.code,
        );
        const expected = texts.map((one) => (one === 'fine' ? thread : -32603));
        assert.deepEqual(ends, expected, text);
      }
      assert.deepEqual(results(await all(running, name, 1)), [thread]);
    });
  }
});
