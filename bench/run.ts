import type { Options } from './options.ts';
import { SeriesSet } from './series.ts';
import type { Subject } from './subject.ts';
import type { Case, Plan, Suite } from './suite.ts';

/** Called at each step of a run, with the seconds that the step was expected to take. */
export interface RunEvents {
  onStep(what: string, seconds: number): void;
}

/** Seconds that a measurement takes beside its own, for connections, processes and messages: the average of a quick run. */
const overheadSeconds = 0.4;

/** The warm-up measurement of a case is shorter than the ones that count: this share of their time, and no more than so many seconds. */
const warmUpShare = 0.6;
const longestWarmUp = 3;

/** The plan of a suite, without the rivals that `--against` leaves out. */
export function planOf(suite: Suite, options: Options): Plan {
  const plan = suite.plan(options);
  const { against } = options;
  if (against.length === 0) return plan;
  const subjects = plan.subjects.filter(({ id, role }) => role !== 'rival' || against.includes(id));
  const ids = new Set(subjects.map(({ id }) => id));
  const cases = plan.cases.map((one) => ({
    ...one,
    subjects: one.subjects.filter((id) => ids.has(id)),
  }));
  return { ...plan, subjects, cases };
}

export function secondsOf(plan: Plan): number {
  const ofCase = ({ subjects, seconds }: Case): number =>
    subjects.length *
    (warmUpSeconds(seconds) + seconds * plan.rounds + overheadSeconds * (plan.rounds + 1));
  return plan.cases.reduce((sum, one) => sum + ofCase(one), plan.openSeconds);
}

function warmUpSeconds(seconds: number): number {
  return Math.min(seconds * warmUpShare, longestWarmUp);
}

/**
 * Measures in rounds, with every subject once in each round (A B C A B C), so that a disturbance of the machine meets
 * all subjects.
 */
export async function runSuite(
  suite: Suite,
  plan: Plan,
  options: Options,
  events: RunEvents,
): Promise<SeriesSet> {
  const byId = new Map(plan.subjects.map((subject) => [subject.id, subject]));
  const series = new SeriesSet(suite.name);
  events.onStep(`${suite.name}: start`, 0);
  const session = await suite.open(plan, options);
  events.onStep(`${suite.name}: warm-up`, plan.openSeconds);
  try {
    for (let round = -1; round < plan.rounds; round++) {
      for (const one of plan.cases) {
        const seconds = round === -1 ? warmUpSeconds(one.seconds) : one.seconds;
        for (const id of one.subjects) {
          const readings = await session.measure(id, one.name, seconds);
          if (round >= 0) {
            for (const reading of readings) series.add(one.name, byId.get(id) as Subject, reading);
          }
          const where = round === -1 ? 'warm-up' : `round ${round + 1}/${plan.rounds}`;
          events.onStep(`${suite.name}: ${where}, ${one.name}, ${id}`, seconds + overheadSeconds);
        }
      }
    }
  } finally {
    await session.close();
  }
  assertComplete(series, plan.rounds);
  return series;
}

function assertComplete(series: SeriesSet, rounds: number): void {
  for (const { case: name, subject, metric, samples } of series.all) {
    if (samples.length === rounds && samples.every(Number.isFinite)) continue;
    throw new Error(
      `${name}, ${subject}, ${metric}: ${samples.join(', ')} is not ${rounds} numbers`,
    );
  }
}
