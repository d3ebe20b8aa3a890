import type { MixedJob } from '../load/mixed.ts';
import type { Goal } from '../load/request.ts';
import type { Options } from '../options.ts';
import { lightAndHeavy, metricAt, milliseconds, type Reading } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { BurningServers } from '../subjects/burning-servers.ts';
import { tandemByDefault, tandemWithoutSpare } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Limit, type Target } from '../targets.ts';

const subjects = [tandemByDefault, tandemWithoutSpare];

interface Procedure {
  readonly method: string;
  readonly ms: number;
}

const short: Procedure = { method: 'short', ms: 0.2 };
const medium: Procedure = { method: 'medium', ms: 2 };
const heavy: Procedure = { method: 'heavy', ms: 300 };
const inlineLight: Procedure = { method: 'inlineLight', ms: 0.01 };
const burner: Procedure = { method: 'burner', ms: 800 };

interface Mixture {
  readonly name: string;
  readonly light?: Procedure;
  readonly heavy?: Procedure;
  /** Callers of the heavy one, each with one call at a time. */
  readonly callers?: number;
  readonly seconds: number;
}

const named = ({ method, ms }: Procedure): string => `${method} (${ms} ms)`;
const alone = (light: Procedure): string => `${named(light)} alone`;
const beside = (light: Procedure, other: Procedure): string =>
  `${named(light)} beside ${other.method}`;

const heavyCallers = 4;

const mixtures: readonly Mixture[] = [
  { name: alone(short), light: short, seconds: 2 },
  { name: alone(medium), light: medium, seconds: 2 },
  { name: alone(heavy), heavy, callers: heavyCallers, seconds: 4 },
  { name: beside(short, heavy), light: short, heavy, callers: heavyCallers, seconds: 4 },
  { name: beside(medium, heavy), light: medium, heavy, callers: heavyCallers, seconds: 4 },
  { name: alone(inlineLight), light: inlineLight, seconds: 2 },
  // The warm-up round has its first calls: from the third on nobody is to wait.
  { name: beside(inlineLight, burner), light: inlineLight, heavy: burner, callers: 1, seconds: 4 },
];

/** The heavy callers come one after another, with the express worker and without it. */
const arriving = `${named(short)} as callers of ${heavy.method} (${heavy.ms} ms) come`;
const arrivingSeconds = 4;
/** Shares of the time. */
const arrivals = [0.25, 0.375, 0.5, 0.625];
const windows = 8;

const lightPerSecond = 30;
const tool = 'paced client';

function plan({ full, duration, rounds }: Options): Plan {
  const each = (seconds: number): number => duration ?? seconds;
  const cases = mixtures.map(({ name, seconds }) => ({
    name,
    subjects: [tandemByDefault.id],
    seconds: each(seconds),
  }));
  const overTime = {
    name: arriving,
    subjects: subjects.map(({ id }) => id),
    seconds: each(arrivingSeconds),
  };
  return {
    subjects,
    cases: [...cases, overTime],
    rounds: rounds ?? (full ? 7 : 5),
    openSeconds: 4,
  };
}

class MixtureSession implements Session {
  readonly #servers: BurningServers;

  constructor(servers: BurningServers) {
    this.#servers = servers;
  }

  async measure(subject: string, name: string, seconds: number): Promise<Reading[]> {
    if (name === arriving) return this.#overTime(subject, seconds);
    const mixture = mixtures.find((one) => one.name === name);
    if (mixture === undefined) throw new Error(`no mixture ${name}`);
    const { light, heavy: other, callers = 1 } = mixture;
    const job: MixedJob = {
      seconds,
      // A machine that is busy with something else may let calls wait too long.
      refusals: [-32000],
      ...(light && {
        paced: { goal: await this.#goal(subject, light), perSecond: lightPerSecond },
      }),
      ...(other && { closed: { goal: await this.#goal(subject, other), connections: callers } }),
    };
    return lightAndHeavy(tool, await this.#servers.run(job));
  }

  close(): Promise<void> {
    return this.#servers.close();
  }

  async #overTime(subject: string, seconds: number): Promise<Reading[]> {
    const job: MixedJob = {
      seconds,
      windows,
      paced: { goal: await this.#goal(subject, short), perSecond: lightPerSecond },
      closed: { goal: await this.#goal(subject, heavy), connections: arrivals.length, arrivals },
      refusals: [-32000],
    };
    const { paced } = await this.#servers.run(job);
    return (paced?.windows ?? []).map((ms, i) =>
      milliseconds(metricAt(((i + 1) / windows) * seconds), tool, ms),
    );
  }

  #goal(subject: string, { method, ms }: Procedure): Promise<Goal> {
    return this.#servers.goal(subject, method, ms);
  }
}

/** The bound as a ratio, or in milliseconds where the call alone is so quick that the ratio says nothing. */
function besideHeavies(
  series: SeriesSet,
  light: Procedure,
  metric: 'light p50' | 'light p99',
  limits: { readonly ratio: number; readonly ms: number },
): readonly [string, Limit, string, readonly number[] | undefined] {
  const figure = `${named(light)}, ${metric.slice(-3)} beside ${heavyCallers} callers of ${heavy.ms} ms`;
  const idle = series.samples(alone(light), 'tandem', metric);
  const loaded = series.samples(beside(light, heavy), 'tandem', metric);
  if (idle === undefined || loaded === undefined)
    return [figure, atMost(limits.ms, 'ms'), tool, undefined];
  return loaded.every((ms) => ms <= limits.ms)
    ? [figure, atMost(limits.ms, 'ms'), tool, loaded]
    : [`${figure}, over alone`, atMost(limits.ratio), tool, ratios(loaded, idle)];
}

function report(series: SeriesSet): readonly Target[] {
  const only = series.samples(alone(heavy), 'tandem', 'heavy');
  const kept = (light: Procedure): number[] | undefined => {
    const loaded = series.samples(beside(light, heavy), 'tandem', 'heavy');
    return loaded && only && ratios(loaded, only);
  };
  const p50 = { ratio: 2, ms: 6 };
  const p99 = { ratio: 4, ms: 25 };
  return given(
    besideHeavies(series, short, 'light p50', p50),
    besideHeavies(series, short, 'light p99', p99),
    besideHeavies(series, medium, 'light p50', p50),
    besideHeavies(series, medium, 'light p99', p99),
    [`heavy calls/s kept beside ${named(short)}`, atLeast(0.95), tool, kept(short)],
    [`heavy calls/s kept beside ${named(medium)}`, atLeast(0.95), tool, kept(medium)],
    [
      `an inline call, p99 beside an async handler that burns ${burner.ms} ms`,
      atMost(25, 'ms'),
      tool,
      series.samples(beside(inlineLight, burner), 'tandem', 'light p99'),
    ],
  );
}

export const mixture: Suite = {
  name: 'mixture',
  about: `${lightPerSecond} light calls/s beside heavy ones, everything by default, with as many workers as it chooses. Last, with the express worker and without it (spareWorkers 0): the median latency in each stretch of time, while ${arrivals.length} callers of ${heavy.ms} ms come one after another.`,
  plan,
  open: async () => new MixtureSession(await BurningServers.start(subjects)),
  report,
};
