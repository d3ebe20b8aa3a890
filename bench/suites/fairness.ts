import type { MixedJob } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { BurningServers } from '../subjects/burning-servers.ts';
import { type ServerSubject, tandemByDefault, tandemWithoutLane } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects = [tandemByDefault, tandemWithoutLane];

const politeMs = 2;
const politePerSecond = 10;
const greedyMs = 10;
const greedyCalls = 200;

interface Mixture {
  readonly name: string;
  readonly server: ServerSubject;
  /** The polite caller's procedure, and its address. */
  readonly polite?: { readonly method: string; readonly from?: string };
  /** The greedy caller's procedure. */
  readonly greedy?: string;
}

const politeAlone: Mixture = {
  name: 'polite alone',
  server: tandemByDefault,
  polite: { method: 'polite' },
};
const greedyAlone: Mixture = { name: 'greedy alone', server: tandemByDefault, greedy: 'greedy' };
/**
 * The same work where nothing tells the polite call from the others: one caller, one procedure, so that all are of one class, and no
 * spare that could be the lane. The calls go in the order in which they came.
 */
const oneQueue: Mixture = {
  name: 'all in one queue',
  server: tandemWithoutLane,
  polite: { method: 'either' },
  greedy: 'either',
};
const twoCallers: Mixture = {
  name: 'each from its own address',
  server: tandemByDefault,
  polite: { method: 'polite', from: '127.0.0.2' },
  greedy: 'greedy',
};
const mixtures = [politeAlone, greedyAlone, oneQueue, twoCallers];

const tool = 'paced client';

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 5 : 4);
  return {
    subjects,
    cases: mixtures.map(({ name, server }) => ({ name, subjects: [server.id], seconds })),
    rounds: rounds ?? (full ? 6 : 5),
    openSeconds: 4,
  };
}

class FairnessSession implements Session {
  readonly #servers: BurningServers;

  constructor(servers: BurningServers) {
    this.#servers = servers;
  }

  async measure(subject: string, name: string, seconds: number): Promise<Reading[]> {
    const mixture = mixtures.find((one) => one.name === name);
    if (mixture === undefined) throw new Error(`no mixture ${name}`);
    const { polite, greedy } = mixture;
    const job: MixedJob = {
      seconds,
      refusals: [-32000],
      ...(polite && {
        paced: {
          goal: await this.#servers.goal(subject, polite.method, politeMs),
          perSecond: politePerSecond,
          ...(polite.from && { from: polite.from }),
        },
      }),
      ...(greedy && {
        closed: {
          goal: await this.#servers.goal(subject, greedy, greedyMs),
          connections: greedyCalls,
        },
      }),
    };
    const { paced, closed } = await this.#servers.run(job);
    return [
      ...(paced === undefined ? [] : [milliseconds('polite p50', tool, paced.p50)]),
      ...(closed === undefined ? [] : [rate('greedy', tool, closed.perSecond)]),
    ];
  }

  close(): Promise<void> {
    return this.#servers.close();
  }
}

function report(series: SeriesSet): readonly Target[] {
  const of = ({ name, server }: Mixture, metric: string): number[] | undefined =>
    series.samples(name, server.id, metric);
  const apart = of(twoCallers, 'polite p50');
  const together = of(oneQueue, 'polite p50');
  const only = of(greedyAlone, 'greedy');
  const beside = of(twoCallers, 'greedy');
  const what = `a polite caller's ${politeMs} ms call beside ${greedyCalls} calls of ${greedyMs} ms`;
  return given(
    [`${what}, p50`, atMost(120, 'ms'), tool, apart],
    [
      `${what}, over the wait in one queue`,
      atMost(0.05),
      tool,
      apart && together && ratios(apart, together),
    ],
    [
      'calls/s that the greedy caller keeps',
      atLeast(0.9),
      tool,
      beside && only && ratios(beside, only),
    ],
  );
}

export const fairness: Suite = {
  name: 'fairness',
  about: `${politePerSecond} calls/s of a polite caller beside ${greedyCalls} calls of another one that always wait or run, everything by default. In one queue: the same calls as one caller's, of one procedure, without a spare.`,
  plan,
  open: async () => new FairnessSession(await BurningServers.start(subjects)),
  report,
};
