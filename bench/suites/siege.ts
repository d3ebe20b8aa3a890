import { setTimeout as sleep } from 'node:timers/promises';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import type { Goal } from '../load/request.ts';
import type { SiegeJob } from '../load/siege.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { milliseconds } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { addCalls } from '../subjects/questions.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

const calm = 'good calls, nobody else there';
const besieged = 'good calls, besieged';
const tool = 'paced client';
const perSecond = 1000;

const idle = 5000;
const slowHeads = 500;
const slowReaders = 50;
const replyBytes = 4_000_000;
/** Least share of the besiegers that must be connected on average: one that was thrown out stays away for a moment. */
const leastHeld = 0.9;

/** Seconds of a measurement. Less than 10 s, after which the server closes idle connections: they are to be held. */
const usual = 6;
/** Wait after a siege: the end of thousands of connections is work, which must not count into the calm. */
const settlingMs = 4000;

function plan({ duration, rounds }: Options): Plan {
  const seconds = duration ?? usual;
  const cases = [calm, besieged].map((name) => ({ name, subjects: ['tandem'], seconds }));
  const subjects = [{ id: 'tandem', label: 'Tandem', role: 'ours' }] as const;
  return { subjects, cases, rounds: rounds ?? 5, openSeconds: 1 };
}

class SiegeSession implements Session {
  readonly #server: RunningServer;
  readonly #load: Child;
  readonly #siege: Child;
  readonly #goal: Goal;

  constructor(server: RunningServer, load: Child, siege: Child, goal: Goal) {
    this.#server = server;
    this.#load = load;
    this.#siege = siege;
    this.#goal = goal;
  }

  async measure(_subject: string, name: string, seconds: number): Promise<Reading[]> {
    if (name === calm) return this.#ask(seconds);
    const job: SiegeJob = { goal: this.#goal, idle, slowHeads, slowReaders, replyBytes };
    await this.#siege.call('lay', job);
    try {
      const readings = await this.#ask(seconds);
      const held = await this.#siege.call<number>('held');
      const all = idle + slowHeads + slowReaders;
      if (held < all * leastHeld)
        throw new Error(`only ${Math.round(held)} of ${all} besiegers were there`);
      return readings;
    } finally {
      await this.#siege.call('lift');
      await sleep(settlingMs);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#server, this.#load, this.#siege].map((one) => one.stop()));
  }

  async #ask(seconds: number): Promise<Reading[]> {
    const job: MixedJob = { seconds, paced: { goal: this.#goal, perSecond } };
    const { paced } = await this.#load.call<MixedResult>('run', job);
    const { p50, p99 } = paced as NonNullable<MixedResult['paced']>;
    return [milliseconds('p50', tool, p50), milliseconds('p99', tool, p99)];
  }
}

function report(series: SeriesSet): readonly Target[] {
  const during = series.samples(besieged, 'tandem', 'p99');
  const before = series.samples(calm, 'tandem', 'p99');
  const figure = `p99 of good calls, besieged by ${idle} idle connections, ${slowHeads} slow heads and ${slowReaders} slow readers, over p99 in calm`;
  return given([figure, atMost(2), tool, during && before && ratios(during, before)]);
}

export const siege: Suite = {
  name: 'siege',
  about: `${perSecond} good calls/s beside clients that hold on to connections, heads and replies.`,
  onlyInFull: true,
  plan,
  open: async () => {
    const server = await RunningServer.start(tandem);
    const goal = await server.goal(addCalls('json-rpc', 'add'));
    const load = await Child.start('load/mixed-process');
    return new SiegeSession(server, load, await Child.start('load/siege-process'), goal);
  },
  report,
};
