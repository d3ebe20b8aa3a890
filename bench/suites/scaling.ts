import { availableParallelism } from 'node:os';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import type { ScalingJob } from '../subjects/scaling-process.ts';
import type { Plan, Session, Subject, Suite } from '../suite.ts';
import { atLeast, given, type Target } from '../targets.ts';

const cores = availableParallelism();

function idOf(workers: number): string {
  return `workers-${workers}`;
}

/** Every number up to 4, then doubled, and all cores. */
const counts = Array.from({ length: cores }, (_, i) => i + 1).filter(
  (n) => n <= 4 || (n & (n - 1)) === 0 || n === cores,
);

const subjects: readonly Subject[] = counts.map((workers) => ({
  id: idOf(workers),
  label: `Tandem, ${workers} of ${cores} cores for workers`,
  role: 'ours',
}));

const name = 'CPU-bound calls of 5 ms';
const tool = 'closed loop in process';
const burnMs = 5;

function plan({ full, duration, rounds }: Options): Plan {
  const cases = [
    { name, subjects: subjects.map(({ id }) => id), seconds: duration ?? (full ? 3 : 0.4) },
  ];
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 1 };
}

async function open(): Promise<Session> {
  const steps = stepsFor(burnMs);
  const processes = new Map<string, Child>();
  for (const workers of counts) {
    const args = [String(workers)];
    processes.set(idOf(workers), await Child.start('subjects/scaling-process', { args }));
  }
  return {
    measure: async (subject, _case, seconds) => {
      const job: ScalingJob = { steps, seconds };
      const perSecond = await processes.get(subject)?.call<number>('run', job);
      return [rate('calls', tool, perSecond ?? Number.NaN)];
    },
    close: async () => {
      await Promise.all([...processes.values()].map((child) => child.stop()));
    },
  };
}

function report(series: SeriesSet): readonly Target[] {
  const one = series.samples(name, idOf(1), 'calls');
  const two = series.samples(name, idOf(2), 'calls');
  return given([
    'CPU-bound calls/s, 2 workers over 1',
    atLeast(1.85),
    tool,
    one && two && ratios(two, one),
  ]);
}

export const scaling: Suite = {
  name: 'scaling',
  about: 'CPU-bound calls over more and more workers. Several processes: when they exist.',
  plan,
  open,
  report,
};
