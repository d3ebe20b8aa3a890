import { Loads } from '../load/loads.ts';
import type { Goal, LoadResult } from '../load/request.ts';
import { wrkVersion } from '../load/wrk.ts';
import type { Options } from '../options.ts';
import type { Usage } from '../process/protocol.ts';
import type { Reading } from '../readings.ts';
import { megabytes, microseconds, milliseconds, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { addCalls, batchCalls } from '../subjects/questions.ts';
import {
  httpServers,
  type RunningServer,
  type ServerSubject,
  startServers,
  stopServers,
} from '../subjects/servers.ts';
import type { Case, Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const connectionsOf: Readonly<Record<string, number>> = {
  '1 connection': 1,
  '8 connections': 8,
  '64 connections': 64,
  '512 connections': 512,
  'batch of 50, 16 connections': 16,
};
const main = '64 connections';
const cases = ['1 connection', main, '512 connections', 'batch of 50, 16 connections'];
const batch = 'batch of 50, 16 connections';
const wholeCpu = 'cpu';
const mainCpu = 'main cpu';

function plan(options: Options): Plan {
  const { full, only, duration, rounds } = options;
  // The quick run measures one case of these many servers, `--only http` all of them.
  const names = full || only.includes('http') ? cases : [main];
  const tools = wrkVersion() === undefined ? 1 : 2;
  const planned = names.map((name): Case => {
    const each = duration ?? (full ? 0.6 : 0.35);
    const able = httpServers.filter(
      ({ dialect, method }) => name !== batch || batchCalls(dialect, method) !== undefined,
    );
    return { name, subjects: able.map(({ id }) => id), seconds: each * tools };
  });
  return {
    subjects: httpServers,
    cases: planned,
    rounds: rounds ?? (full ? 7 : 5),
    openSeconds: 4,
  };
}

export class HttpSession implements Session {
  readonly #subjects: readonly ServerSubject[];
  readonly #loads: Loads;
  readonly #servers: ReadonlyMap<string, RunningServer>;
  readonly #goals = new Map<string, Goal>();
  readonly #checked = new Set<string>();

  private constructor(
    subjects: readonly ServerSubject[],
    loads: Loads,
    servers: ReadonlyMap<string, RunningServer>,
  ) {
    this.#subjects = subjects;
    this.#loads = loads;
    this.#servers = servers;
  }

  /** Starts those of `all` that the plan has. */
  static async open(all: readonly ServerSubject[], { subjects }: Plan): Promise<HttpSession> {
    const wanted = all.filter(({ id }) => subjects.some((one) => one.id === id));
    return new HttpSession(wanted, await Loads.start(), await startServers(wanted));
  }

  async measure(subject: string, name: string, seconds: number): Promise<Reading[]> {
    const server = this.#servers.get(subject);
    if (server === undefined) throw new Error(`${subject} was not started`);
    const goal = await this.#goal(server, subject, name);
    const { tools } = this.#loads;
    const connections = connectionsOf[name] ?? 1;
    const readings: Reading[] = [];
    for (const tool of tools) {
      const key = `${subject} ${name} ${tool}`;
      if (!this.#checked.has(key)) {
        await this.#loads.check(tool, goal, connections, seconds / tools.length);
        this.#checked.add(key);
        continue;
      }
      const before = await server.process.usage();
      const result = await this.#loads.run(tool, goal, connections, seconds / tools.length);
      const after = await server.process.usage();
      readings.push(...toReadings(result), ...cpuPerCall(before, after, result));
      readings.push(megabytes('peak rss', tool, after.peakRssBytes));
    }
    return readings;
  }

  async close(): Promise<void> {
    await stopServers(this.#servers);
    await this.#loads.close();
  }

  async #goal(server: RunningServer, subject: string, name: string): Promise<Goal> {
    const key = `${subject} ${name === batch ? batch : main}`;
    let goal = this.#goals.get(key);
    if (goal === undefined) {
      const { dialect, method } = this.#subjects.find(({ id }) => id === subject) as ServerSubject;
      const asked = name === batch ? batchCalls(dialect, method) : addCalls(dialect, method);
      if (asked === undefined) throw new Error(`${subject} has no batches`);
      goal = await server.goal(asked);
      this.#goals.set(key, goal);
    }
    return goal;
  }
}

/** Of all threads of the server, and of its main thread, which accepts the calls. */
function cpuPerCall(before: Usage, after: Usage, { tool, responses }: LoadResult): Reading[] {
  return [
    microseconds(wholeCpu, tool, (after.cpuUs - before.cpuUs) / responses),
    microseconds(mainCpu, tool, (after.mainCpuUs - before.mainCpuUs) / responses),
  ];
}

function toReadings({ tool, perSecond, p50, p99, p999 }: LoadResult): Reading[] {
  return [
    rate('requests', tool, perSecond),
    milliseconds('p50', tool, p50),
    milliseconds('p99', tool, p99),
    milliseconds('p99.9', tool, p999),
  ];
}

function report(series: SeriesSet): readonly Target[] {
  const tool = series.all.some((one) => one.tool === 'wrk') ? 'wrk' : 'autocannon';
  const of = (a: string, b: string, metric = 'requests'): number[] | undefined => {
    const above = series.samples(main, a, metric, tool);
    const below = series.samples(main, b, metric, tool);
    return above && below && ratios(above, below);
  };
  const at = 'requests/s at 64 connections';
  return given(
    [`inline add over the raw uWS floor, ${at}`, atLeast(0.72), tool, of('tandem', 'uws-floor')],
    [`inline add over jayson, ${at}`, atLeast(3), tool, of('tandem', 'jayson')],
    [`inline add over fastify, ${at}`, atLeast(2.5), tool, of('tandem', 'fastify')],
    [`inline add over tRPC, ${at}`, atLeast(4), tool, of('tandem', 'trpc')],
    [`pooled add over uWS + piscina, ${at}`, atLeast(2), tool, of('tandem-pooled', 'uws-piscina')],
    [
      `pooled add over fastify + piscina, ${at}`,
      atLeast(2.5),
      tool,
      of('tandem-pooled', 'fastify-piscina'),
    ],
    [`pooled add over inline add, ${at}`, atLeast(0.6), tool, of('tandem-pooled', 'tandem')],
    [
      'CPU of an inline add over the raw uWS floor',
      atMost(1.4),
      tool,
      of('tandem', 'uws-floor', wholeCpu),
    ],
    [
      'CPU of the main thread for a pooled add, over the raw uWS floor',
      atMost(1.85),
      tool,
      of('tandem-pooled', 'uws-floor', mainCpu),
    ],
    [
      'CPU of a pooled add over uWS + piscina with 64 tasks per worker and text passed on',
      atMost(0.67),
      tool,
      of('tandem-pooled', 'uws-piscina-text', wholeCpu),
    ],
  );
}

export const http: Suite = {
  name: 'http',
  about: 'A tiny call over HTTP/1.1 on loopback, every server in a process of its own.',
  plan,
  open: (planned) => HttpSession.open(httpServers, planned),
  report,
};
