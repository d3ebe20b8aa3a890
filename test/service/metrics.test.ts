import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderMetrics } from '../../src/core/service/metrics.ts';
import type { LogLine } from '../harness.ts';
import { Exposition } from '../observe/exposition.ts';
import { Running } from './running.ts';

async function scrape(running: Running): Promise<Exposition> {
  const { metrics } = running.dispatcher;
  assert.ok(metrics !== undefined);
  // Not `text()`, which may be a second old.
  return new Exposition(await renderMetrics([metrics.snapshot()]));
}

function eventsOf(lines: readonly LogLine[]): unknown[] {
  return lines.map(({ fields }) => fields.event);
}

describe('calls are counted once each, by procedure, code and place', () => {
  const running = Running.suite();

  test('whatever becomes of them', async () => {
    const length = { text: 'abc' };
    await running.ask({ method: 'in.thread', id: 1 });
    await running.ask({ method: 'in.thread' });
    await running.ask({ method: 'in.length', params: {}, id: 1 });
    await running.ask({ method: 'in.repeat', params: {}, id: 1 });
    await running.ask([
      { method: 'in.thread', id: 1 },
      { method: 'out.length', params: length, id: 2 },
      { method: 'out.length', params: length },
      { method: 'out.length', params: [], id: 3 },
      { method: 'fail', id: 4 },
      { method: 'nobody', id: 5 },
      'no request',
    ]);
    await running.ask({ method: 'out.repeat', params: {}, id: 1 });
    await running.ask({ method: 'out.thread', id: 1 });
    await running.dispatcher.dispatch({ method: 'out.length', params: length, id: 1 });
    await running.ask({ method: 'nobody"\n\\', id: 1 });
    await running.ask({ method: 'somebody' });
    await running.ask([]);
    await running.ask({ method: 'rpc.discover', id: 1 });
    await running.dispatcher.dispatchText('{');
    // The main thread reads the envelope alone, and the worker finds no JSON.
    await running.dispatcher.dispatchText('{"id":1,"method":"out.length","params":{"text":}}');
    const seen = await scrape(running);
    assert.deepEqual(seen.calls(), {
      'in.thread 0 inline': 3,
      'in.length -32602 inline': 1,
      'in.repeat -32603 inline': 1,
      'rpc.discover 0 inline': 1,
      'out.length 0 worker': 3,
      'out.length -32602 worker': 1,
      'out.length -32700 worker': 1,
      'fail 1 worker': 1,
      'out.repeat -32603 worker': 1,
      'out.thread 0 worker': 1,
      '(unknown) -32601 none': 3,
      '(none) -32600 none': 2,
      '(none) -32700 none': 1,
    });
    const counted = ['wait', 'duration'].map((name) =>
      seen.value(`tandem_call_${name}_seconds_count`),
    );
    assert.deepEqual(counted, [14, 14]);
    // A call that is taken back from a worker that was held up, and sent again, is in a frame once more.
    const framed = seen.value('tandem_frame_calls_total');
    assert.ok(framed >= 8);
    assert.ok(seen.value('tandem_frames_total') <= framed);
    assert.ok(seen.value('tandem_call_duration_seconds_sum', { procedure: 'out.length' }) > 0);
  });
});

describe('what never ran', () => {
  test('has its code, and has taken no more time than it waited', async (t) => {
    const running = await Running.start(t);
    const aborted = AbortSignal.abort();
    await running.call('in.count', 'one', { signal: aborted });
    await running.call('out.count', 'two', { signal: aborted });
    await running.dispatcher.close();
    await running.call('in.count', 'three');
    const { metrics } = running.dispatcher;
    const counted = metrics?.snapshot().calls.map(({ procedure, place, codes, ...times }) => {
      assert.deepEqual(times.duration, times.wait);
      assert.equal(times.busy, 0);
      return [procedure, place, codes];
    });
    assert.deepEqual(counted, [
      ['in.count', 'inline', { '-32003': 1 }],
      ['out.count', 'worker', { '-32003': 1 }],
      ['in.count', 'none', { '-32003': 1 }],
    ]);
    assert.deepEqual(running.journal.lines(), []);
  });

  test('is told from what was too large: a batch whose replies are stops', async (t) => {
    const running = Running.make(t, { maxReplyBytes: 1000 });
    const large = { text: 'x', times: 900 };
    await running.ask({ method: 'in.repeat', params: { text: 'x', times: 2000 }, id: 1 });
    await running.ask({ method: 'out.repeat', params: { text: 'x', times: 2000 }, id: 1 });
    await running.ask([
      { method: 'in.repeat', params: large, id: 1 },
      { method: 'in.repeat', params: large, id: 2 },
      { method: 'in.thread', id: 3 },
    ]);
    const seen = await scrape(running);
    assert.deepEqual(seen.calls(), {
      'in.repeat -32004 inline': 1,
      'out.repeat -32004 worker': 1,
      // The second one ran, and its reply was left out.
      'in.repeat 0 inline': 2,
      'in.thread -32004 none': 1,
    });
  });
});

describe('the state of the service', () => {
  test('shows what is in flight, and what waits', async (t) => {
    const running = await Running.start(t);
    const held = running.call('hold', 'held');
    await running.begunOn('held');
    const later = [1, 2, 3].map((id) => running.ask({ method: 'out.thread', id }));
    const waiting = running.call('in.hangForLong', 'inline');
    await running.begunOn('inline');
    const seen = await scrape(running);
    // A thread that answers nothing shows what it held at its last reading.
    assert.ok(seen.value('tandem_worker_heap_bytes', { worker: '1' }) > 1024 ** 2);
    const inWorkers = seen.value('tandem_calls_in_flight', { place: 'worker' });
    assert.equal(inWorkers + seen.value('tandem_queue_calls'), 4);
    assert.equal(seen.value('tandem_calls_in_flight', { place: 'inline' }), 1);
    assert.equal(seen.value('tandem_requests_in_flight'), 5);
    assert.equal(seen.value('tandem_workers', { state: 'active' }), 1);
    assert.ok(seen.value('tandem_process_resident_memory_bytes') > 10 * 1024 ** 2);
    running.release();
    await Promise.all([held, ...later]);
    const after = await scrape(running);
    assert.equal(after.value('tandem_calls_in_flight', { place: 'worker' }), 0);
    await running.dispatcher.close(0);
    await waiting;
    assert.equal((await scrape(running)).value('tandem_calls_in_flight'), 0);
  });

  test('shows workers that were killed, that died, and those that took their place', async (t) => {
    const running = Running.make(t);
    await running.ask({ method: 'spin', params: params(running, true), id: 1 });
    await running.ask({ method: 'die', id: 1 });
    // Answered by the worker that took the dead one's place.
    await running.ask({ method: 'out.thread', id: 1 });
    const seen = await scrape(running);
    assert.equal(seen.value('tandem_worker_kills_total'), 1);
    assert.equal(seen.value('tandem_worker_deaths_total', { reason: 'exit' }), 1);
    assert.equal(seen.value('tandem_worker_deaths_total'), 1);
    assert.equal(seen.value('tandem_worker_restarts_total'), 2);
    assert.equal(seen.value('tandem_call_duration_seconds_count', { procedure: 'spin' }), 1);
    // Of a call that never returned it is known, too, for how long it held its thread.
    const spun = seen.value('tandem_call_busy_seconds_total', { procedure: 'spin' });
    const [whole, waited] = ['duration', 'wait'].map((name) =>
      seen.value(`tandem_call_${name}_seconds_sum`, { procedure: 'spin' }),
    );
    assert.ok(Math.abs(spun - (Number(whole) - Number(waited))) < 1e-9);
    const { 'spin -32001 worker': ended, 'die -32002 worker': died } = seen.calls();
    assert.deepEqual([ended, died], [1, 1]);
    const events = eventsOf(running.lines);
    assert.deepEqual(
      events.filter((event) => String(event).startsWith('worker-')),
      ['worker-killed', 'worker-lost'],
    );
  });

  test('tells of overload when it begins and when it has ended, and counts each refusal', async (t) => {
    const running = await Running.start(t, { maxQueue: 0 });
    const held = running.call('hold', 'held');
    await running.begunOn('held');
    const calls = Array.from({ length: 20 }, (_, i) => running.call('out.count', String(i)));
    // The worker is held, so what is answered now was refused.
    assert.match(String(await Promise.race(calls)), /"code":-32000/);
    running.release();
    await held;
    const replies = await Promise.all(calls);
    const all = replies.filter((reply) => reply?.includes('"code":-32000'));
    assert.equal((await scrape(running)).value('tandem_calls_shed_total'), all.length);
    await running.dispatcher.close();
    const shed = running.lines.filter(({ fields }) => String(fields.event).startsWith('shed-'));
    assert.deepEqual(
      shed.map(({ level, fields: { event, count } }) => ({ level, event, count })),
      [
        { level: 'warn', event: 'shed-begins', count: undefined },
        { level: 'warn', event: 'shed-ends', count: all.length },
      ],
    );
  });
});

function params({ journal }: Running, spin: boolean) {
  return { file: journal.file, text: 'it', spin };
}
