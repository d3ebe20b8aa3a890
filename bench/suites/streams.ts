import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds, milliseconds, type Reading } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { differences, ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { StreamJob } from '../subjects/stream-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [{ id: 'tandem', label: 'Tandem', role: 'ours' }];

const tool = 'in process';

interface Measured {
  readonly job: 'values' | 'calls' | 'idle' | 'p50';
  /** Streams, or calls in flight. */
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

const cases: Readonly<Record<string, Measured>> = {
  'CPU of a pooled value': { job: 'values', count: 4, reading: us },
  'CPU of a pooled call': { job: 'calls', count: 64, reading: us },
  'CPU with no streams': { job: 'idle', count: 0, reading: percent },
  'CPU with 1000 idle streams': { job: 'idle', count: 1000, reading: percent },
  'light call alone': { job: 'p50', count: 0, reading: ms },
  'light call beside 16 busy generators': { job: 'p50', count: 16, reading: ms },
};

function plan({ full, duration, rounds }: Options): Plan {
  return {
    subjects,
    cases: Object.entries(cases).map(([name, { job }]) => ({
      name,
      subjects: ['tandem'],
      seconds: duration ?? (job === 'idle' ? 1 : full ? 1 : 0.25),
    })),
    rounds: rounds ?? (full ? 7 : 3),
    openSeconds: 2,
  };
}

async function open(): Promise<Session> {
  const child = await Child.start('subjects/stream-process');
  return {
    measure: async (_subject, name, seconds) => {
      const measured = cases[name];
      if (measured === undefined) throw new Error(`no case ${name}`);
      const job: StreamJob = { count: measured.count, seconds };
      return [measured.reading(await child.call<number>(measured.job, job))];
    },
    close: () => child.stop(),
  };
}

function report(series: SeriesSet): readonly Target[] {
  const of = (name: keyof typeof cases) => series.samples(name, 'tandem', metric);
  const [value, call] = [of('CPU of a pooled value'), of('CPU of a pooled call')];
  const [none, idle] = [of('CPU with no streams'), of('CPU with 1000 idle streams')];
  const [alone, beside] = [of('light call alone'), of('light call beside 16 busy generators')];
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
  );
}

export const streams: Suite = {
  name: 'streams',
  about:
    'Values of generators in a worker: what each costs, what idle streams cost, and what they leave to calls.',
  plan,
  open,
  report,
};
