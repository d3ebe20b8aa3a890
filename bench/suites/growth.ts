import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { bytes, microseconds } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { exponent, ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { Dimension, GrowthJob } from '../subjects/growth-process.ts';
import type { Case, Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';
import { HeldConnections } from './held-connections.ts';

type Axis = Dimension | 'connections';

/** Ascending: connections stay open from one size to the next. */
const sizes: Readonly<Record<Axis, readonly number[]>> = {
  batch: [1, 10, 100, 1000],
  'params inline': [100, 1000, 10_000, 100_000, 1_000_000, 5_000_000],
  'params pooled': [100, 1000, 10_000, 100_000, 1_000_000, 5_000_000],
  procedures: [10, 100, 1000, 10_000],
  connections: [1, 10, 100, 1000, 5000],
};

/** The exponent is fitted to so many of the largest sizes. At smaller sizes, fixed costs would make it look better. */
const fitted = 3;

const subjects: readonly Subject[] = [{ id: 'tandem', label: 'Tandem', role: 'ours' }];
const tool = 'in process';

function caseName(axis: string, size: number): string {
  return `${axis} ${size}`;
}

function plan({ full, duration, rounds }: Options): Plan {
  const cases = (Object.keys(sizes) as Axis[]).flatMap((axis) =>
    sizes[axis].map((size): Case => {
      const seconds = axis === 'connections' ? 0.1 : (duration ?? (full ? 0.2 : 0.05));
      return { name: caseName(axis, size), subjects: ['tandem'], seconds };
    }),
  );
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 1 };
}

function axisOf(name: string): { axis: Axis; size: number } {
  const at = name.lastIndexOf(' ');
  return { axis: name.slice(0, at) as Axis, size: Number(name.slice(at + 1)) };
}

async function open(): Promise<Session> {
  const timer = await Child.start('subjects/growth-process');
  const nodeFlags = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256'];
  const scales = await Child.start('subjects/growth-process', { nodeFlags });
  const held = await HeldConnections.start();
  return {
    measure: async (_subject, name, seconds): Promise<Reading[]> => {
      const { axis, size } = axisOf(name);
      if (axis === 'connections') return held.measure(size, size === sizes.connections[0]);
      const job: GrowthJob = { dimension: axis, size, seconds };
      const time = microseconds('time', tool, await timer.call<number>('time', job));
      // This thread can measure only the part of a pooled call's memory that it forwards.
      if (axis === 'params pooled') return [time];
      return [time, bytes('memory', tool, await scales.call<number>('memory', job))];
    },
    close: async () => {
      await Promise.all([timer.stop(), scales.stop(), held.close()]);
    },
  };
}

/** One exponent per round. */
function exponents(
  samples: (name: string) => readonly number[] | undefined,
  axis: Axis,
): number[] | undefined {
  const largest = sizes[axis].slice(-fitted);
  const columns = largest.map((size) => samples(caseName(axis, size)));
  if (columns.some((column) => column === undefined)) return undefined;
  return columns[0]?.map((_, round) =>
    exponent(largest.map((size, i) => [size, columns[i]?.[round] ?? Number.NaN])),
  );
}

function report(series: SeriesSet): readonly Target[] {
  const of = (metric: string) => (name: string) => series.samples(name, 'tandem', metric);
  const growth = (axis: Axis, metric: string) => exponents(of(metric), axis);
  const many = of('time')(caseName('procedures', 10_000));
  const few = of('time')(caseName('procedures', 10));
  const limit = atMost(1.05, '');
  return given(
    ['exponent of time over the length of a batch', limit, tool, growth('batch', 'time')],
    ['exponent of memory over the length of a batch', limit, tool, growth('batch', 'memory')],
    ['exponent of time over params, inline', limit, tool, growth('params inline', 'time')],
    ['exponent of memory over params, inline', limit, tool, growth('params inline', 'memory')],
    ['exponent of time over params, pooled', limit, tool, growth('params pooled', 'time')],
    [
      'a call among 10,000 procedures over one among 10',
      atMost(1.05),
      tool,
      many && few && ratios(many, few),
    ],
    [
      'memory per idle connection, of 5000',
      atMost(2048, 'B'),
      'own client',
      of('memory')(caseName('connections', 5000))?.map((value) => value / 5000),
    ],
  );
}

export const growth: Suite = {
  name: 'growth',
  about: `Time and memory as one thing grows; exponents of the ${fitted} largest sizes.`,
  plan,
  open,
  report,
};
