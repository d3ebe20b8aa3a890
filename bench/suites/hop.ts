import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { differences, ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { HopJob, HopResult } from '../subjects/hop-process.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [
  { id: 'port', label: 'raw MessagePort, a message per turn', role: 'floor' },
  { id: 'tandem', label: 'Tandem, pooled', role: 'ours' },
  { id: 'tandem-inline', label: 'Tandem, inline', role: 'ours' },
  { id: 'piscina', label: 'piscina.run', role: 'rival' },
  { id: 'piscina-16', label: 'piscina.run, 16 tasks per worker', role: 'rival' },
];

const inFlightOf: Readonly<Record<string, number>> = {
  '1 in flight': 1,
  '64 in flight': 64,
  '1024 in flight': 1024,
};

const tool = 'closed loop in process';

function plan({ full, only, duration, rounds }: Options): Plan {
  // The quick run measures only the cases with a target.
  const names = Object.keys(inFlightOf).slice(0, full || only.includes('hop') ? undefined : 2);
  const cases = names.map((name) => ({
    name,
    subjects: subjects.map(({ id }) => id),
    seconds: duration ?? (full ? 0.4 : 0.25),
  }));
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 5), openSeconds: 2 };
}

async function open(plan: Plan): Promise<Session> {
  const processes = new Map<string, Child>();
  for (const { id } of plan.subjects) {
    processes.set(id, await Child.start('subjects/hop-process', { args: [id] }));
  }
  return {
    measure: async (subject, name, seconds) => {
      const job: HopJob = { inFlight: inFlightOf[name] ?? 1, seconds };
      const result = await processes.get(subject)?.call<HopResult>('run', job);
      if (result === undefined) throw new Error(`${subject} was not started`);
      const { perSecond, cpuPerCall } = result;
      return [rate('calls', tool, perSecond), microseconds('cpu', tool, cpuPerCall)];
    },
    close: async () => {
      await Promise.all([...processes.values()].map((child) => child.stop()));
    },
  };
}

/** The better of piscina's two set-ups, round by round. */
function bestPiscina(series: SeriesSet, name: string): number[] | undefined {
  const plain = series.samples(name, 'piscina', 'calls');
  const many = series.samples(name, 'piscina-16', 'calls');
  return plain && many && plain.map((value, round) => Math.max(value, many[round] ?? 0));
}

function report(series: SeriesSet): readonly Target[] {
  const calls = (name: string) => series.samples(name, 'tandem', 'calls');
  const cpu = (id: string) => series.samples('64 in flight', id, 'cpu');
  const best = bestPiscina(series, '64 in flight');
  const alone = series.samples('1 in flight', 'piscina', 'calls');
  const many = calls('64 in flight');
  const one = calls('1 in flight');
  const pooled = cpu('tandem');
  const inline = cpu('tandem-inline');
  return given(
    [
      'pooled call, 64 in flight, over the better piscina.run, calls/s',
      atLeast(4),
      tool,
      many && best && ratios(many, best),
    ],
    [
      'pooled call, 64 in flight, CPU above inline',
      atMost(4, 'us'),
      tool,
      pooled && inline && differences(pooled, inline),
    ],
    [
      'pooled call, 1 in flight, time over piscina.run',
      atMost(1.15),
      tool,
      one && alone && ratios(alone, one),
    ],
  );
}

export const hop: Suite = {
  name: 'hop',
  about: 'A tiny call to one worker thread and back, in process.',
  plan,
  open,
  report,
};
