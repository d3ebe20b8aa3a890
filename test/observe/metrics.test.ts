import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  callMetrics,
  counterTable,
  gaugeTable,
  placeMetric,
} from '../../src/core/observe/metric-table.ts';
import {
  addTotals,
  bucketBounds,
  type Counters,
  Histogram,
  type MetricsSnapshot,
} from '../../src/core/observe/snapshot.ts';
import { renderMetrics } from '../../src/core/service/metrics.ts';
import { CallCounters } from '../../src/core/service/observation.ts';
import { Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { mockTimeouts } from '../mock-timeouts.ts';
import { Exposition } from './exposition.ts';

/** What a process that has ended has not. */
const noFigures = {
  gauges: undefined,
  places: [],
  workers: [],
  events: [],
  callers: [],
  members: [],
} as const;

function countersOf(value: number): Counters {
  return Object.fromEntries(Object.keys(counterTable).map((name) => [name, value])) as Counters;
}

function snapshot(process: string, fill: (counters: CallCounters) => void): MetricsSnapshot {
  const counters = new CallCounters();
  fill(counters);
  return {
    process,
    calls: counters.totals(),
    counters: countersOf(2),
    blocked: [],
    gauges: { queued: 3, activeWorkers: 4, spareWorkers: 1 },
    places: [],
    groups: [],
    workers: [],
    events: [],
    callers: [],
    members: [],
  };
}

/** As it crosses from one process to another. */
function crossed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

describe('a histogram', () => {
  it('puts a time into the first bucket whose bound it does not exceed', () => {
    for (const [i, bound] of bucketBounds.entries()) {
      for (const [us, bucket] of [
        [bound * 1e6, i],
        [bound * 1e6 + 0.5, i + 1],
      ] as const) {
        const histogram = new Histogram();
        histogram.record(us);
        const { buckets } = histogram.totals();
        assert.equal(buckets.length, bucketBounds.length + 1);
        assert.equal(buckets.indexOf(1), bucket, `${us} us`);
        assert.equal(
          buckets.reduce((sum, count) => sum + count, 0),
          1,
        );
      }
    }
  });
});

describe('call counters', () => {
  it('count each call once, also where one that was timed stands for others', () => {
    const counters = new CallCounters();
    counters.record('a', 0, 'inline', 0, 30, 30);
    for (let i = 0; i < 5; i++) counters.record('a', 0, 'inline', 0, -2);
    counters.record('a', -32602, 'inline', 0, 300, 100);
    counters.record('a', 0, 'inline', 0, -2);
    counters.record('a', -32001, 'inline', 0, -1);
    const [a] = counters.totals();
    assert.deepEqual(a?.codes, { '0': 7, '-32602': 1, '-32001': 1 });
    // 1 of 30 us, and 7 of 300 us: the one that was, the five before it, the one after it.
    // The one that never ran took no time.
    assert.deepEqual(a?.duration.buckets.slice(0, 5), [1, 1, 0, 0, 7]);
    assert.ok(Math.abs(a.duration.sum - (30 + 7 * 300) / 1e6) < 1e-12);
    assert.ok(Math.abs(a.busy - (30 + 7 * 100) / 1e6) < 1e-12);
    assert.equal(a?.wait.buckets[0], 9);
    // Asked again, they say the same.
    assert.deepEqual(counters.totals()[0], a);
  });

  it('hold the codes of one procedure to a number, whatever it throws', () => {
    const counters = new CallCounters();
    for (let code = 1; code <= 1000; code++) counters.record('a', code, 'worker', 0, 1);
    const codes: Readonly<Record<string, number>> = counters.totals()[0]?.codes ?? {};
    assert.equal(Object.keys(codes).length, 33);
    assert.equal(codes.other, 1000 - 32);
  });
});

describe('a place that no table knows', () => {
  it('is counted, crosses to another process, and is rendered', async () => {
    const one = snapshot('1', (counters) => {
      counters.record('a', 0, 'elsewhere', 40, 60);
      counters.record('a', -32002, 'elsewhere', 40, -1);
    });
    const gauges = { ...one.gauges, callsInFlight: { inline: 0, elsewhere: 7 } };
    const text = await renderMetrics([crossed({ ...one, gauges })]);
    const seen = new Exposition(text);
    const place = 'elsewhere';
    assert.equal(seen.value('tandem_calls_total', { procedure: 'a', code: '0', place }), 1);
    assert.equal(seen.value('tandem_calls_total', { procedure: 'a', code: '-32002', place }), 1);
    assert.equal(seen.value('tandem_calls_in_flight', { place, process: '1' }), 7);
  });
});

describe('rendered metrics', () => {
  it('have a help text and a type for every name of the table, and are what a scraper reads', async () => {
    const rows = [callMetrics, { placeMetric }, counterTable, gaugeTable].flatMap((table) =>
      Object.values<{ name: string; help: string; type?: string }>(table),
    );
    const gauges = Object.fromEntries(Object.keys(gaugeTable).map((name) => [name, 1.5]));
    const full = {
      ...snapshot('0', (counters) => {
        counters.record('a', 0, 'worker', 5, 5, 5);
        counters.recordBatch('a', 'worker', 3);
        counters.recordAffinity('a', 'worker', 'hit', 3);
      }),
      gauges,
      places: [{ procedure: 'a', place: 'worker', cause: 'declared' }],
    };
    const exposition = new Exposition(await renderMetrics([full]));
    const names = new Set(rows.map(({ name }) => name));
    assert.deepEqual(new Set(exposition.families.map(({ name }) => name)), names);
    for (const { name, help } of rows) {
      const family = exposition.family(name);
      assert.equal(family.help, help);
      const counts = name.endsWith('_total');
      assert.equal(family.type === 'COUNTER', counts, name);
    }
  });

  it('sum the handler batches of processes', async () => {
    const runs = [1, 3, 1024].map((calls, process) =>
      snapshot(String(process), (counters) => {
        counters.record('a', 0, 'worker', 5, 5);
        counters.recordBatch('a', 'worker', calls);
        counters.record('b', 0, 'inline', 0, 5);
      }),
    );
    const text = (await renderMetrics(crossed(runs))).toString();
    const value = (rest: string): string | undefined =>
      new RegExp(`^tandem_handler_batch_calls${rest} (.*)$`, 'm').exec(text)?.[1];
    const labels = 'procedure="a",place="worker"';
    assert.equal(value(`_sum\\{${labels}\\}`), '1028');
    assert.equal(value(`_count\\{${labels}\\}`), '3');
    assert.equal(value(`_bucket\\{${labels},le="2"\\}`), '1');
    assert.equal(value(`_bucket\\{${labels},le="512"\\}`), '2');
    assert.equal(value(`_bucket\\{${labels},le="1024"\\}`), '3');
  });

  it('sum the calls with affinity of processes by outcome', async () => {
    const processes = (['hit', 'steal', 'hit'] as const).map((outcome, process) =>
      snapshot(String(process), (counters) => {
        counters.record('a', 0, 'worker', 5, 5);
        counters.recordAffinity('a', 'worker', outcome, 250);
        if (process > 0) counters.recordAffinity('a', 'worker', 'none', 0);
      }),
    );
    const seen = new Exposition(await renderMetrics(crossed(processes)));
    const value = (name: string, outcome: string): unknown =>
      seen.value(`tandem_affinity_${name}`, { procedure: 'a', outcome });
    for (const [outcome, count, seconds] of [
      ['hit', 2, 0.5],
      ['steal', 1, 0.25],
      ['none', 2, 0],
    ] as const) {
      assert.equal(value('total', outcome), count);
      assert.equal(value('wait_seconds_total', outcome), seconds);
    }
  });

  it('sum what processes counted, an ended one included, and show a gauge for each that runs', async () => {
    const one = snapshot('1', (counters) => {
      counters.record('a', 0, 'worker', 20, 20, 20);
      counters.record('a', -32603, 'worker', 20, 20, 5);
    });
    const two = snapshot('2', (counters) => {
      counters.record('a', 0, 'worker', 20, 20, 15);
      counters.record('b', 0, 'inline', 0, 5, 5);
      counters.record('(unknown)', -32601, 'none', 0, -1);
    });
    const three = snapshot('3', (counters) => counters.record('a', 0, 'inline', 0, 70e6, 4e6));
    const ended = { process: 'ended', ...addTotals([crossed(three), crossed(three)]) };
    // In whichever order they answered.
    const all = [crossed(two), { ...ended, ...noFigures }, crossed(one)];
    const exposition = new Exposition(await renderMetrics(all));
    assert.deepEqual(exposition.calls(), {
      'a 0 worker': 2,
      'a -32603 worker': 1,
      'a 0 inline': 2,
      'b 0 inline': 1,
      '(unknown) -32601 none': 1,
    });
    const buckets = 'tandem_call_duration_seconds_bucket';
    for (const [le, count] of [
      ['0.00001', 0],
      ['0.00005', 3],
      ['60', 3],
      ['+Inf', 5],
    ] as const) {
      assert.equal(exposition.value(buckets, { procedure: 'a', le }), count, le);
    }
    assert.equal(exposition.value('tandem_call_duration_seconds_count', { procedure: 'a' }), 5);
    const seconds = exposition.value('tandem_call_duration_seconds_sum', { procedure: 'a' });
    assert.ok(Math.abs(seconds - (140 + 3 * 40e-6)) < 1e-9, String(seconds));
    const busy = exposition.samples('tandem_call_busy_seconds_total');
    assert.deepEqual(
      Object.fromEntries(
        busy.map(({ labels = {}, value }) => [`${labels.procedure} ${labels.place}`, value]),
      ),
      { 'a worker': '0.00004', 'b inline': '0.000005', 'a inline': '8' },
    );
    assert.equal(exposition.value('tandem_reloads_total'), 8);
    assert.equal(exposition.value('tandem_worker_deaths_total', { reason: 'memory' }), 8);
    assert.equal(exposition.value('tandem_queue_calls', { process: '1' }), 3);
    assert.equal(exposition.value('tandem_workers', { process: '2', state: 'active' }), 4);
    const processes = exposition.samples('tandem_queue_calls').map(({ labels }) => labels?.process);
    assert.deepEqual(processes, ['1', '2']);
  });

  it('show what each group of workers has for itself, and sum that too', async () => {
    const one = snapshot('1', () => {});
    const group = (kills: number) => ({
      group: 'gpu',
      counters: { kills },
      gauges: { queued: 5, activeWorkers: 2 },
    });
    const first = { ...one, groups: [group(3)] };
    const ended = { process: 'ended', ...addTotals([crossed({ ...first, groups: [group(4)] })]) };
    const all = [crossed(first), { ...ended, ...noFigures }];
    const exposition = new Exposition(await renderMetrics(all));
    assert.equal(exposition.value('tandem_worker_kills_total', { group: 'gpu' }), 7);
    assert.equal(exposition.samples('tandem_worker_kills_total').length, 2);
    const queued = exposition.samples('tandem_queue_calls').map(({ labels }) => labels);
    assert.deepEqual(queued, [{ process: '1' }, { group: 'gpu', process: '1' }]);
    const active = { group: 'gpu', process: '1', state: 'active' };
    assert.equal(exposition.value('tandem_workers', active), 2);
  });

  it('say where each procedure runs and why, in each process that runs', async () => {
    const placed = (process: string, place: string, cause: string): MetricsSnapshot => {
      const one = snapshot(process, (counters) => counters.record('a', 0, 'inline', 0, 5));
      return crossed({ ...one, places: [{ procedure: 'a', place, cause }] });
    };
    const ended = { process: 'ended', ...addTotals([placed('3', 'inline', 'declared')]) };
    const text = await renderMetrics([
      placed('10', 'inline', 'asynchronous'),
      { ...ended, ...noFigures },
      placed('9', 'worker', 'held the main thread'),
    ]);
    const series = new Exposition(text).samples(placeMetric.name).map(({ labels }) => labels);
    assert.deepEqual(series, [
      { procedure: 'a', place: 'worker', reason: 'held the main thread', process: '9' },
      { procedure: 'a', place: 'inline', reason: 'asynchronous', process: '10' },
    ]);
  });

  it('escape what a label may hold', async () => {
    const hostile = 'a"b\\c\nd{}=,\u001b é';
    const one = snapshot('0', (counters) => counters.record(hostile, -32601, 'none', 0, -1));
    const exposition = new Exposition(await renderMetrics([one]));
    assert.deepEqual(exposition.calls(), { [`${hostile} -32601 none`]: 1 });
  });
});

describe('the text of a service', () => {
  it('has histograms for so many procedures, and one for the rest', async () => {
    const fill = (counters: CallCounters): void => {
      for (let i = 0; i < 1000; i++) {
        counters.record(`p${i}`, 0, 'worker', 1, 2);
        counters.record(`p${i}`, 0, 'inline', 0, 2);
      }
    };
    const bytes = await renderMetrics([snapshot('1', fill)]);
    const seen = new Exposition(bytes);
    assert.ok(bytes.length < 1.5 * 1024 * 1024, `${bytes.length} bytes`);
    const times = 'tandem_call_duration_seconds_count';
    assert.equal(seen.samples(times).length, 151);
    assert.equal(seen.value(times, { procedure: 'p149' }), 2);
    assert.equal(seen.value(times, { procedure: '(others)' }), 2 * 850);
    assert.equal(seen.value(times), 2000);
    assert.equal(seen.samples('tandem_calls_total').length, 2000);
  });

  it('is one text for all who ask within a second', async (t) => {
    mockTimeouts(t);
    const router = new Router();
    router.rpc({ name: 'one', placement: 'inline' }, () => 1);
    const { dispatcher } = await TestService.start(t, { router });
    const { metrics } = dispatcher;
    assert.ok(metrics !== undefined);
    const texts = await Promise.all(Array.from({ length: 50 }, () => metrics.bytes()));
    assert.equal(new Set(texts).size, 1);
    await dispatcher.dispatch({ method: 'one', id: 1 });
    t.mock.timers.tick(999);
    assert.equal(await metrics.bytes(), texts[0]);
    t.mock.timers.tick(1);
    assert.match(await metrics.text(), /tandem_calls_total\{procedure="one"/);
  });
});
