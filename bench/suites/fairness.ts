import type { MixedJob } from '../load/mixed.ts';
import type { Goal } from '../load/request.ts';
import type { Options } from '../options.ts';
import { milliseconds, type Reading, rate, refusals } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { BurningServers } from '../subjects/burning-servers.ts';
import { type ServerSubject, tandemByDefault, tandemWithoutSpare } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects = [tandemByDefault, tandemWithoutSpare];

const politeMs = 2;
const politePerSecond = 10;
const greedyMs = 10;
const greedyCalls = 200;
/** More than the service takes in: most are refused. */
const tooManyCalls = 3000;
const streamCount = 20;
/** Connections that send text that is no JSON, as quickly as they are answered. */
const rubbishConnections = 8;

interface Mixture {
  readonly name: string;
  readonly server: ServerSubject;
  /** The polite caller's procedure, and its address. */
  readonly polite?: { readonly method: string; readonly from?: string };
  /** The greedy caller's procedure, or text that is no JSON. */
  readonly greedy?: string;
  /** Calls of it at once. Default: {@link greedyCalls} */
  readonly calls?: number;
  /** Streams of the greedy caller that compute for 10 ms between their values. */
  readonly streams?: number;
}

const politeAlone: Mixture = {
  name: 'polite alone',
  server: tandemByDefault,
  polite: { method: 'polite' },
};
const greedyAlone: Mixture = { name: 'greedy alone', server: tandemByDefault, greedy: 'greedy' };
/**
 * The same work where nothing tells the polite call from the others: one caller, one procedure, so that all are of one class, and no
 * spare that could be the express worker. The calls go in the order in which they came.
 */
const oneQueue: Mixture = {
  name: 'all in one queue',
  server: tandemWithoutSpare,
  polite: { method: 'either' },
  greedy: 'either',
};
const twoCallers: Mixture = {
  name: 'each from its own address',
  server: tandemByDefault,
  polite: { method: 'polite', from: '127.0.0.2' },
  greedy: 'greedy',
};
const polite = { method: 'polite', from: '127.0.0.2' };
const rubbish = '{"jsonrpc":"2.0","id":';
const besideStreams: Mixture = {
  name: `beside ${streamCount} streams that compute`,
  server: tandemByDefault,
  polite,
  streams: streamCount,
};
const streamsAlone: Mixture = {
  name: `${streamCount} streams that compute`,
  server: tandemByDefault,
  streams: streamCount,
};
const besideTooMany: Mixture = {
  name: `beside ${tooManyCalls} calls`,
  server: tandemByDefault,
  polite,
  greedy: 'greedy',
  calls: tooManyCalls,
};
const besideRubbish: Mixture = {
  name: 'beside rubbish',
  server: tandemByDefault,
  // Inline: the client that sends rubbish takes one of two cores, and a worker gives way to it.
  polite: { method: 'inlineLight', from: '127.0.0.2' },
  greedy: rubbish,
  calls: rubbishConnections,
};
const mixtures = [
  politeAlone,
  greedyAlone,
  oneQueue,
  twoCallers,
  streamsAlone,
  besideStreams,
  besideTooMany,
  besideRubbish,
];

const tool = 'paced client';

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 5 : 4);
  return {
    subjects,
    cases: mixtures.map(({ name, server }) => ({ name, subjects: [server.id], seconds })),
    rounds: rounds ?? (full ? 7 : 5),
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
    const { polite, greedy, calls = greedyCalls, streams } = mixture;
    const servers = this.#servers;
    const job: MixedJob = {
      seconds,
      refusals: [-32000, -32700],
      ...(polite && {
        paced: {
          goal: await this.#servers.goal(subject, polite.method, politeMs),
          perSecond: politePerSecond,
          ...(polite.from && { from: polite.from }),
        },
      }),
      ...(greedy && {
        closed: { goal: await this.#greedy(subject, greedy), connections: calls },
      }),
      ...(streams && {
        streams: servers.streams(subject, 'burning', greedyMs, { count: streams }),
      }),
    };
    const { paced, closed, valuesPerSecond } = await servers.run(job);
    return [
      ...(paced === undefined
        ? []
        : [
            milliseconds('polite p50', tool, paced.p50),
            milliseconds('polite p99', tool, paced.p99),
            refusals('polite refused', tool, paced.refusals),
          ]),
      ...(closed === undefined || closed.results === 0
        ? []
        : [rate('greedy', tool, closed.perSecond)]),
      ...(valuesPerSecond === undefined ? [] : [rate('values', tool, valuesPerSecond)]),
    ];
  }

  async #greedy(subject: string, greedy: string): Promise<Goal> {
    const goal = await this.#servers.goal(
      subject,
      greedy === rubbish ? 'greedy' : greedy,
      greedyMs,
    );
    if (greedy !== rubbish) return goal;
    return { ...goal, exchanges: [{ body: rubbish, reply: '' }] };
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
  /** Each stream that a call may meet at its worker has at most three slices before it. */
  const streamsMs = 3 * streamCount * greedyMs + 60;
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
    [
      `the same call beside ${streamCount} streams that compute ${greedyMs} ms for each value, p99`,
      atMost(streamsMs, 'ms'),
      tool,
      of(besideStreams, 'polite p99'),
    ],
    [
      `the same call, inline, beside ${rubbishConnections} connections that send rubbish, p99`,
      atMost(50, 'ms'),
      tool,
      of(besideRubbish, 'polite p99'),
    ],
    [
      `refused of the same calls beside ${tooManyCalls} calls of ${greedyMs} ms`,
      atMost(0, 'calls'),
      tool,
      of(besideTooMany, 'polite refused'),
    ],
  );
}

export const fairness: Suite = {
  name: 'fairness',
  about: `${politePerSecond} calls/s of a polite caller beside ${greedyCalls} calls of another one that always wait or run, everything by default. In one queue: the same calls as one caller's, of one procedure, without a spare. Then beside streams that compute, beside more calls than are taken in, and beside text that is no JSON.`,
  plan,
  open: async () => new FairnessSession(await BurningServers.start(subjects)),
  report,
};
