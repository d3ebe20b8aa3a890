import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { counterTable } from '../../src/core/observe/metric-table.ts';
import type { CallTotals, Counters, MetricsSnapshot } from '../../src/core/observe/snapshot.ts';
import { CallCounters } from '../../src/core/service/observation.ts';
import { Figures, type FiguresSource } from '../../src/extras/console/console.ts';
import { mockTimeouts } from '../mock-timeouts.ts';
import { Running } from '../service/running.ts';

const counters = Object.fromEntries(Object.keys(counterTable).map((name) => [name, 1])) as Counters;

function snapshot(calls: readonly CallTotals[], process = '0'): MetricsSnapshot {
  return {
    process,
    calls,
    counters,
    blocked: [],
    gauges: { queued: 3 },
    places: [],
    groups: [],
    workers: [
      {
        group: null,
        isExpress: false,
        threadId: 7,
        worker: 1,
        cpuSeconds: 0.25,
        heapBytes: 1024,
        inFlight: 1,
        completed: 2,
        streams: 0,
        running: { procedure: 'a', ms: 5 },
      },
    ],
    events: [{ at: 2, event: 'ready', text: `of ${process}` }],
    callers: [],
    members: [],
  };
}

function sourceOf(
  snapshots: () => readonly MetricsSnapshot[],
  names: readonly string[] = [],
): FiguresSource & { asked: number } {
  return {
    asked: 0,
    state: 'ready',
    async snapshots() {
      this.asked++;
      return snapshots();
    },
    names: () => names,
    placementOf: (name) => ({ place: 'inline', reason: `of ${name}` }),
  };
}

interface Read {
  readonly state: string;
  readonly snapshots: readonly { process: string; calls: readonly CallTotals[] }[];
  readonly placement: Readonly<Record<string, unknown>>;
  readonly workers: readonly unknown[];
  readonly events: readonly unknown[];
}

async function read(figures: Figures): Promise<Read> {
  return JSON.parse(Buffer.from(await figures.bytes()).toString()) as Read;
}

/** A text that nobody else has asked for: a text is kept for a second. */
function inOrder(source: FiguresSource) {
  let shown: Figures | undefined;
  return (t: { mock: { timers: { tick(ms: number): void } } }): Promise<Read> => {
    shown ??= new Figures(source);
    t.mock.timers.tick(1000);
    return read(shown);
  };
}

function called(names: readonly string[], times = 1): CallTotals[] {
  const counts = new CallCounters();
  for (const name of names) for (let i = 0; i < times; i++) counts.record(name, 0, 'worker', 5, 10);
  return counts.totals();
}

const thousand = Array.from({ length: 1000 }, (_, i) => `p${i}`);

describe('the figures of the console', () => {
  test('are one text for all who ask within a second, and none where nobody asks', async (t) => {
    mockTimeouts(t);
    const source = sourceOf(() => [snapshot([])]);
    const figures = new Figures(source);
    assert.equal(source.asked, 0);
    const [first, second] = await Promise.all([figures.bytes(), figures.bytes()]);
    assert.equal(first, second);
    t.mock.timers.tick(999);
    assert.equal(await figures.bytes(), first);
    assert.equal(source.asked, 1);
    t.mock.timers.tick(1);
    assert.notEqual(await figures.bytes(), first);
    assert.equal(source.asked, 2);
  });

  test('tell of the processes, their workers with what each runs, placement with its reason, events in order', async () => {
    const late = { ...snapshot([], '2'), events: [{ at: 1, event: 'reloaded', text: 'before' }] };
    const source = sourceOf(() => [snapshot(called(['a']), '1'), late], ['a', 'b']);
    const { state, snapshots, workers, placement, events } = await read(new Figures(source));
    assert.equal(state, 'ready');
    assert.deepEqual(
      snapshots.map(({ process }) => process),
      ['1', '2'],
    );
    assert.deepEqual(snapshots[0]?.calls, called(['a']));
    assert.deepEqual(workers[1], { process: '2', ...snapshot([]).workers[0] });
    assert.deepEqual(placement, {
      a: { place: 'inline', reason: 'of a' },
      b: { place: 'inline', reason: 'of b' },
    });
    assert.deepEqual(events, [
      { process: '2', at: 1, event: 'reloaded', text: 'before' },
      { process: '1', at: 2, event: 'ready', text: 'of 1' },
    ]);
  });

  test('of a thousand procedures are those of the 200 that changed last, and one sum of the others', async (t) => {
    mockTimeouts(t);
    let rows = called(thousand);
    const next = inOrder(sourceOf(() => [snapshot(rows)], thousand));
    const sumOf = ({ snapshots }: Read): number =>
      snapshots
        .flatMap(({ calls }) => calls)
        .reduce((sum, { codes }) => sum + (codes['0'] ?? 0), 0);
    const first = await next(t);
    assert.equal(sumOf(first), 1000);
    assert.ok(first.snapshots[0]!.calls.length <= 201);
    rows = called([...thousand, ...thousand.slice(500, 600)]);
    const second = await next(t);
    assert.equal(sumOf(second), 1100);
    const shown = second.snapshots[0]!.calls.map(({ procedure }) => procedure);
    for (const name of thousand.slice(500, 600)) assert.ok(shown.includes(name), name);
    assert.equal(Object.keys(second.placement).length, 200);
    // A viewer who missed that text sees the change in the next one.
    const third = await next(t);
    const still = third.snapshots[0]!.calls.map(({ procedure }) => procedure);
    for (const name of thousand.slice(500, 600)) assert.ok(still.includes(name), name);
  });

  test('of a thousand procedures are made in many turns of the event loop', async () => {
    const figures = new Figures(sourceOf(() => [snapshot(called(thousand))], thousand));
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await figures.bytes();
    isOver = true;
    // Rows are counted, written or summed, fifty at a time.
    assert.ok(turns >= 2 * (1000 / 50) - 2, `${turns} turns`);
  });
});

describe('the snapshot of a process', () => {
  test('names the procedure that a worker is in, by the ledger, and nothing where it waits', async (t) => {
    const running = Running.make(t);
    await running.dispatcher.ready();
    const { metrics } = running.dispatcher;
    assert.ok(metrics !== undefined);
    const [idle] = metrics.snapshot().workers;
    assert.deepEqual([idle?.running, idle?.inFlight], [null, 0]);
    const call = running.call('hold', 'held');
    await running.begunOn('held');
    const [busy] = (await metrics.inTurns())[0]!.workers;
    assert.equal(busy?.running?.procedure, 'hold');
    assert.ok((busy?.running?.ms ?? -1) >= 0);
    assert.equal(busy?.inFlight, 1);
    running.release();
    await call;
  });
});
