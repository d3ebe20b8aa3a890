import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { Work } from '../subjects/batch-procedures.ts';
import type { BatchesJob } from '../subjects/batches-process.ts';
import type { HopResult } from '../subjects/hop-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [
  { id: 'batched', label: 'Tandem, many calls a run', role: 'ours' },
  { id: 'single', label: 'Tandem, one call a run', role: 'floor' },
];

const works: Readonly<Record<string, Work>> = {
  'table scan': 'scan',
  'primary key': 'key',
  'matrix multiplication': 'matrix',
  'database 5 ms away, inline': 'distant',
};

const inFlight = [64, 1, 16];

const tool = 'closed loop in process';

function caseOf(work: string, count: number): string {
  return `${work}, ${count} in flight`;
}

function plan({ full, only, duration, rounds }: Options): Plan {
  // The quick run measures only the cases with a target.
  const counts = full || only.includes('batches') ? inFlight : inFlight.slice(0, 1);
  const cases = counts.flatMap((count) =>
    Object.keys(works).map((work) => ({
      name: caseOf(work, count),
      subjects: subjects.map(({ id }) => id),
      seconds: duration ?? (full ? 0.4 : 0.2),
    })),
  );
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 2 };
}

async function open(plan: Plan): Promise<Session> {
  const processes = new Map<string, Child>();
  for (const { id } of plan.subjects) {
    processes.set(id, await Child.start('subjects/batches-process', { args: [id] }));
  }
  const jobs = new Map(
    inFlight.flatMap((count) =>
      Object.entries(works).map(
        ([name, work]) => [caseOf(name, count), { work, inFlight: count }] as const,
      ),
    ),
  );
  return {
    measure: async (subject, name, seconds) => {
      const known = jobs.get(name);
      const child = processes.get(subject);
      if (known === undefined || child === undefined) throw new Error(`no ${subject} of ${name}`);
      const job: BatchesJob = { ...known, seconds };
      const { perSecond, cpuPerCall } = await child.call<HopResult>('run', job);
      return [rate('calls', tool, perSecond), microseconds('cpu', tool, cpuPerCall)];
    },
    close: async () => {
      await Promise.all([...processes.values()].map((child) => child.stop()));
    },
  };
}

function report(series: SeriesSet): readonly Target[] {
  const over = (work: string): number[] | undefined => {
    const name = caseOf(work, 64);
    const many = series.samples(name, 'batched', 'calls');
    const one = series.samples(name, 'single', 'calls');
    return many && one && ratios(many, one);
  };
  const figure = (work: string) => `${work}, 64 in flight, many calls a run over one, calls/s`;
  return given(
    [figure('table scan'), atLeast(8), tool, over('table scan')],
    [figure('database 5 ms away, inline'), atLeast(4), tool, over('database 5 ms away, inline')],
  );
}

export const batches: Suite = {
  name: 'batches',
  about: 'Handlers that take many calls at once, beside the same work call by call, in process.',
  plan,
  open,
  report,
};
