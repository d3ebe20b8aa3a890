import { setTimeout as pause } from 'node:timers/promises';
import type { Goal } from '../load/request.ts';
import type { SocketsJob } from '../load/sockets-process.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Usage } from '../process/protocol.ts';
import { bytes, microseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { addCalls } from '../subjects/questions.ts';
import { RunningServer, tandem } from '../subjects/servers.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [{ id: 'tandem', label: 'Tandem', role: 'ours' }];
const tool = 'own client';

interface Load {
  readonly job: 'posts' | 'calls' | 'values' | 'hold';
  readonly method: string;
  readonly connections: number;
  readonly depth: number;
}

const http = 'HTTP, 64 connections';
const one = 'WebSocket, 64 connections';
const many = 'WebSocket, 64 connections, 16 in flight on each';
const pooled = 'pooled calls over WebSocket, 16 connections, 16 in flight on each';
const pooledValues = 'pooled values over WebSocket, 16 streams';
const idle = '4000 idle WebSockets beside 4000 others';

const loads: Readonly<Record<string, Load>> = {
  [http]: { job: 'posts', method: 'add', connections: 64, depth: 1 },
  [one]: { job: 'calls', method: 'add', connections: 64, depth: 1 },
  [many]: { job: 'calls', method: 'add', connections: 64, depth: 16 },
  [pooled]: { job: 'calls', method: 'pooledAdd', connections: 16, depth: 16 },
  [pooledValues]: { job: 'values', method: 'pooledAdd', connections: 16, depth: 1 },
  [idle]: { job: 'hold', method: 'add', connections: 4000, depth: 0 },
};

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 1 : 0.5);
  const cases = Object.keys(loads).map((name) => ({ name, subjects: ['tandem'], seconds }));
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 3), openSeconds: 3 };
}

/**
 * What arrives leaves garbage, and makes V8's space for new objects grow up to 48 MB, however many sockets there are. So garbage
 * is collected before a reading, and that space is kept small: what grows with the sockets is the sockets.
 */
const withoutGarbage = ['--expose-gc', '--max-semi-space-size=1'];

/** After sockets have come, milliseconds. */
const settleMs = 300;

/** Load before the first reading of a case, milliseconds. */
const warmUpMs = 200;

class SocketsSession implements Session {
  readonly #server: RunningServer;
  readonly #load: Child;
  readonly #goals: ReadonlyMap<string, Goal>;

  private constructor(server: RunningServer, load: Child, goals: ReadonlyMap<string, Goal>) {
    this.#server = server;
    this.#load = load;
    this.#goals = goals;
  }

  static async open(): Promise<SocketsSession> {
    const server = await RunningServer.start(tandem);
    const goals = new Map<string, Goal>();
    for (const method of ['add', 'pooledAdd']) {
      goals.set(method, await server.goal(addCalls('json-rpc', method)));
    }
    return new SocketsSession(server, await Child.start('load/sockets-process'), goals);
  }

  async measure(_subject: string, name: string, seconds: number): Promise<readonly Reading[]> {
    const load = loads[name];
    if (load === undefined) throw new Error(`no case ${name}`);
    return load.job === 'hold' ? this.#measureIdle(load) : this.#measureLoad(load, seconds);
  }

  async close(): Promise<void> {
    await this.#load.stop();
    await this.#server.stop();
  }

  async #measureLoad(load: Load, seconds: number): Promise<readonly Reading[]> {
    await this.#load.call(load.job, this.#jobOf(load, this.#goals.get(load.method)));
    await pause(warmUpMs);
    const before = await this.#server.process.usage();
    const [began, first] = [performance.now(), await this.#load.call<number>('count')];
    await pause(seconds * 1000);
    const after = await this.#server.process.usage();
    const [ended, last] = [performance.now(), await this.#load.call<number>('count')];
    await this.#load.call('end');
    const each = last - first;
    return [
      rate('rate', tool, (each / (ended - began)) * 1000),
      microseconds('CPU of each', tool, (after.cpuUs - before.cpuUs) / each),
    ];
  }

  /** A server of its own each time: a process does not give memory back. */
  async #measureIdle(load: Load): Promise<readonly Reading[]> {
    const server = await RunningServer.start(tandem, withoutGarbage);
    try {
      const goal = await server.goal(addCalls('json-rpc', load.method));
      // What the first ones leave behind beside themselves is the heap's room for whatever else arrives.
      await this.#load.call('hold', this.#jobOf(load, goal));
      const before = await this.#usageAtRest(server);
      await this.#load.call('hold', this.#jobOf(load, goal));
      const after = await this.#usageAtRest(server);
      await this.#load.call('end');
      const grown = Math.max(0, after.rssBytes - before.rssBytes);
      return [bytes('memory of each', tool, grown / load.connections)];
    } finally {
      await server.stop();
    }
  }

  async #usageAtRest({ process }: RunningServer): Promise<Usage> {
    // Pages that one collection has emptied are given back by the next.
    for (let i = 0; i < 3; i++) {
      await pause(settleMs);
      await process.call('collect');
    }
    await pause(settleMs);
    return process.usage();
  }

  #jobOf({ connections, depth }: Load, goal: Goal | undefined): SocketsJob {
    if (goal === undefined) throw new Error('no goal');
    return { goal, connections, depth };
  }
}

function report(series: SeriesSet): readonly Target[] {
  const rateOf = (name: string) => series.samples(name, 'tandem', 'rate');
  const cpuOf = (name: string) => series.samples(name, 'tandem', 'CPU of each');
  const over = (a: readonly number[] | undefined, b: readonly number[] | undefined) =>
    a && b && ratios(a, b);
  return given(
    [
      'WebSocket with 16 in flight over HTTP, requests',
      atLeast(2.5),
      tool,
      over(rateOf(many), rateOf(http)),
    ],
    [
      'WebSocket with 16 in flight over HTTP, CPU of a request',
      atMost(0.45),
      tool,
      over(cpuOf(many), cpuOf(http)),
    ],
    ['WebSocket over HTTP, requests', atLeast(0.95), tool, over(rateOf(one), rateOf(http))],
    [
      'CPU of a pooled value over a pooled call, WebSocket',
      atMost(0.4),
      tool,
      over(cpuOf(pooledValues), cpuOf(pooled)),
    ],
    [
      'memory of an idle WebSocket, of the second 4000',
      atMost(2048, 'B'),
      tool,
      series.samples(idle, 'tandem', 'memory of each'),
    ],
  );
}

export const sockets: Suite = {
  name: 'sockets',
  about: 'Calls and streams over WebSockets, beside calls over HTTP: rates, CPU, idle memory.',
  plan,
  open: () => SocketsSession.open(),
  report,
};
