import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds, milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { differences, ratios } from '../statistics.ts';
import type { StreamJob } from '../subjects/stream-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, type Given, given, type Target } from '../targets.ts';
import { FanOut, fanOutMetric, tickers } from './fan-out.ts';
import { growth, measureStall, slopeOf, stalls } from './stalled-readers.ts';

const tool = 'in process';

interface Measured {
  readonly job: 'values' | 'calls' | 'idle' | 'p50' | 'windowed';
  /** Streams, calls in flight, or values of a window. */
  readonly count: number;
  readonly reading: (value: number) => Reading;
}

const metric = 'of each';
const us = (value: number): Reading => microseconds(metric, tool, value);
const ms = (value: number): Reading => milliseconds(metric, tool, value);
const percent = (value: number): Reading => ({
  metric,
  tool,
  value,
  unit: '%',
  better: 'lower',
});

const perSecond = (value: number): Reading => rate('values', tool, value);

/** The sizes of windows; a chart shows the values per second with each. */
const windows = [1, 2, 4, 8, 16, 32, 64, 128, 512];

const cases: Readonly<Record<string, Measured>> = {
  'CPU of a pooled value': { job: 'values', count: 4, reading: us },
  'CPU of a pooled call': { job: 'calls', count: 64, reading: us },
  'CPU with no streams': { job: 'idle', count: 0, reading: percent },
  'CPU with 1000 idle streams': { job: 'idle', count: 1000, reading: percent },
  'light call alone': { job: 'p50', count: 0, reading: ms },
  'light call beside 16 busy generators': { job: 'p50', count: 16, reading: ms },
  ...Object.fromEntries(
    windows.map((count) => [
      `window of ${count}`,
      { job: 'windowed', count, reading: perSecond } as const,
    ]),
  ),
};

const fanOut = 'one source, 1000 subscribers';

function plan({ full, duration, rounds }: Options): Plan {
  const ours = ['tandem'];
  return {
    subjects: tickers,
    cases: [
      ...Object.entries(cases).map(([name, { job }]) => ({
        name,
        subjects: ours,
        seconds: duration ?? (job === 'idle' ? 1 : full ? 0.5 : 0.25),
      })),
      // Less than the time after which a client that reads nothing is cut.
      ...Object.keys(stalls).map((name) => ({
        name,
        subjects: ours,
        seconds: duration ?? (full ? 6 : 4),
      })),
      { name: fanOut, subjects: tickers.map(({ id }) => id), seconds: duration ?? (full ? 2 : 1) },
    ],
    rounds: rounds ?? (full ? 4 : 3),
    openSeconds: 2,
  };
}

async function open(): Promise<Session> {
  const child = await Child.start('subjects/stream-process');
  const load = await Child.start('load/readers-process');
  const tickersSession = new FanOut(load);
  return {
    measure: async (subject, name, seconds) => {
      const measured = cases[name];
      const stall = stalls[name];
      if (stall !== undefined) return measureStall(load, stall, seconds);
      if (measured === undefined) return tickersSession.measure(subject, seconds);
      const job: StreamJob = { count: measured.count, seconds };
      return [measured.reading(await child.call<number>(measured.job, job))];
    },
    close: async () => {
      await Promise.all([child.stop(), tickersSession.close()]);
      await load.stop();
    },
  };
}

function report(series: SeriesSet): readonly Target[] {
  const of = (name: keyof typeof cases) => series.samples(name, 'tandem', metric);
  const [value, call] = [of('CPU of a pooled value'), of('CPU of a pooled call')];
  const [none, idle] = [of('CPU with no streams'), of('CPU with 1000 idle streams')];
  const [alone, beside] = [of('light call alone'), of('light call beside 16 busy generators')];
  const [sent, looped] = tickers.map(({ id }) => series.samples(fanOut, id, fanOutMetric));
  return given(
    [
      'CPU of a pooled value over a pooled call',
      atMost(0.6),
      tool,
      value && call && ratios(value, call),
    ],
    [
      'CPU of 1000 idle streams, of one core',
      atMost(0.5, '%'),
      tool,
      idle && none && differences(idle, none),
    ],
    [
      'light call beside 16 busy generators, p50 above alone',
      atMost(1, 'ms'),
      tool,
      beside && alone && differences(beside, alone),
    ],
    ...Object.keys(stalls).flatMap((name) => stallTargets(name, series)),
    [
      'one value to 1000 subscribers over a raw loop of sends, CPU of the main thread',
      atMost(1.15),
      'own client',
      sent && looped && ratios(sent, looped),
    ],
  );
}

function stallTargets(name: string, series: SeriesSet): readonly Given[] {
  const of = (metricOf: string) => series.samples(name, 'tandem', metricOf);
  return [
    [`${name}: growth`, atMost(40, 'MB'), 'own client', of(growth)],
    [`${name}: slope`, atMost(1, 'MB/min'), 'own client', of(slopeOf)],
  ];
}

export const streams: Suite = {
  name: 'streams',
  about:
    'Values of generators: what each costs, by window too; what idle streams cost, and what they leave to calls; readers that stand still; one source for 1000 subscribers.',
  plan,
  open,
  report,
};
