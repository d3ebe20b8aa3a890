import { availableParallelism } from 'node:os';
import type { MixedJob, MixedResult } from '../load/mixed.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Reading } from '../readings.ts';
import { lightAndHeavy } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { stepsFor } from '../subjects/calibrate.ts';
import { addCalls, burnCalls } from '../subjects/questions.ts';
import {
  fastify,
  fastifyPiscina,
  poolThreads,
  type RunningServer,
  type ServerSubject,
  startServers,
  stopServers,
  tandem,
  uwsPiscina,
} from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const cores = availableParallelism();

/** The light call runs on the main thread of every server. The heavy call runs in a pool where the server has one. */
const subjects: readonly ServerSubject[] = [
  { ...tandem, id: 'tandem', label: `Tandem, ${poolThreads} of ${cores} cores for workers` },
  {
    ...tandem,
    id: 'tandem-all-cores',
    label: `Tandem, ${cores} of ${cores} cores for workers`,
    args: [String(cores)],
  },
  fastify,
  { ...fastifyPiscina, method: 'add' },
  { ...uwsPiscina, method: 'add' },
];

const alone = 'light alone';
const heavy = 'heavy alone';
const both = 'light under heavy';

/** So few that no server is busy with them. */
const lightPerSecond = 500;
const heavyMs = 20;
/** Heavy calls that run or wait at any time: more than the machine has cores, so that all cores are busy. */
const heavyConnections = cores * 4;

const tool = 'paced client';

function plan({ full, only, duration, rounds }: Options): Plan {
  const seconds = (quick: number): number => duration ?? (full ? quick * 1.5 : quick);
  // The quick run leaves out the rivals with a pool.
  const chosen = full || only.includes('isolation') ? subjects : subjects.slice(0, 3);
  const ids = chosen.map(({ id }) => id);
  const cases = [
    // Both percentiles are of equally many calls: the 99th of fewer than 500 is a matter of luck.
    { name: alone, subjects: ids, seconds: seconds(1) },
    { name: heavy, subjects: ids, seconds: seconds(0.3) },
    { name: both, subjects: ids, seconds: seconds(1) },
  ];
  // A ratio of two percentiles: its median over fewer rounds says more of the machine than of the server.
  return { subjects: chosen, cases, rounds: rounds ?? 10, openSeconds: 3 };
}

class IsolationSession implements Session {
  readonly #load: Child;
  readonly #servers: ReadonlyMap<string, RunningServer>;
  readonly #steps: number;

  constructor(load: Child, servers: ReadonlyMap<string, RunningServer>, steps: number) {
    this.#load = load;
    this.#servers = servers;
    this.#steps = steps;
  }

  async measure(id: string, name: string, seconds: number): Promise<Reading[]> {
    const server = this.#servers.get(id);
    const subject = subjects.find((one) => one.id === id);
    if (server === undefined || subject === undefined) throw new Error(`${id} was not started`);
    const { dialect, method } = subject;
    const light = await server.goal(addCalls(dialect, method));
    const burns = burnCalls(dialect === 'routes' ? 'routes' : 'json-rpc', this.#steps);
    const job: MixedJob = {
      seconds,
      ...(name !== heavy && { paced: { goal: light, perSecond: lightPerSecond } }),
      ...(name !== alone && {
        closed: { goal: await server.goal(burns), connections: heavyConnections },
      }),
    };
    return lightAndHeavy(tool, await this.#load.call<MixedResult>('run', job));
  }

  async close(): Promise<void> {
    await stopServers(this.#servers);
    await this.#load.stop();
  }
}

function report(series: SeriesSet): readonly Target[] {
  const p99 = (id: string): number[] | undefined => {
    const loaded = series.samples(both, id, 'light p99');
    const idle = series.samples(alone, id, 'light p99');
    return loaded && idle && ratios(loaded, idle);
  };
  const kept = (id: string): number[] | undefined => {
    const beside = series.samples(both, id, 'heavy');
    const only = series.samples(heavy, id, 'heavy');
    return beside && only && ratios(beside, only);
  };
  const few = 'workers = cores - 1';
  const all = 'workers = cores';
  return given(
    [`light p99 under saturation over unloaded, ${few}`, atMost(1.5), tool, p99('tandem')],
    [`light p99 under saturation over unloaded, ${all}`, atMost(3), tool, p99('tandem-all-cores')],
    [`heavy calls/s kept beside light ones, ${few}`, atLeast(0.95), tool, kept('tandem')],
    [`heavy calls/s kept beside light ones, ${all}`, atLeast(0.95), tool, kept('tandem-all-cores')],
  );
}

export const isolation: Suite = {
  name: 'isolation',
  about: `${lightPerSecond} light calls/s beside ${heavyConnections} calls of ${heavyMs} ms CPU that always wait or run.`,
  plan,
  open: async ({ subjects: chosen }) => {
    const wanted = subjects.filter(({ id }) => chosen.some((one) => one.id === id));
    const steps = stepsFor(heavyMs);
    const load = await Child.start('load/mixed-process');
    return new IsolationSession(load, await startServers(wanted), steps);
  },
  report,
};
