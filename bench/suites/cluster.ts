import { setTimeout as pause } from 'node:timers/promises';
import { findNatsServer, NatsServer } from '../../test/nats/nats-server.ts';
import type { PostsJob } from '../load/posts-process.ts';
import { probe } from '../load/probe.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { cpuMicroseconds } from '../process/cpu-time.ts';
import { microseconds, milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import type { ClosedJob, Paced, PacedJob } from '../subjects/cluster/caller-process.ts';
import { addCalls } from '../subjects/questions.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

/** The ids are what caller-process.ts takes. */
const subjects: readonly Subject[] = [
  { id: 'own', label: 'Tandem: fewer own calls in flight, of two', role: 'ours' },
  { id: 'round-robin', label: 'round robin', role: 'rival' },
  { id: 'heartbeat', label: 'the least loaded by heartbeat', role: 'rival' },
  { id: 'requests', label: 'requests of NATS to a queue group', role: 'rival' },
  { id: 'gateway', label: 'HTTP to a gateway, and over NATS to a member', role: 'ours' },
  { id: 'direct', label: 'HTTP to the server itself', role: 'floor' },
];
const ways = subjects.slice(0, 4).map(({ id }) => id);

const fast = '64 calls in flight, one member';
const slow = 'one of two members 3 times slower';
const http = '64 HTTP connections';
const tool = 'callers in process';
const httpTool = 'own client';
/** Load before the first reading, milliseconds. */
const warmUpMs = 200;

/** More than half of what both members can do (1067 calls/s): half of it is more than the slow one can. */
const perSecond = 600;

function plan({ full, duration, rounds }: Options): Plan {
  // Without a server of NATS there is nothing to measure.
  if (findNatsServer() === undefined) return { subjects, cases: [], rounds: 0, openSeconds: 0 };
  const cases = [
    { name: fast, subjects: ['own', 'requests'], seconds: duration ?? (full ? 1.5 : 0.5) },
    { name: http, subjects: ['gateway', 'direct'], seconds: duration ?? (full ? 1.5 : 0.5) },
    { name: slow, subjects: ways, seconds: duration ?? 3 },
  ];
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 3), openSeconds: 5 };
}

const nothing: Promise<Session> = Promise.resolve({
  measure: async () => [],
  close: async () => {},
});

class ClusterSession implements Session {
  readonly #server: NatsServer;
  readonly #children: Child[];
  readonly #callers: ReadonlyMap<string, Child>;
  readonly #member: Child;
  readonly #load: Child;
  readonly #httpServers: ReadonlyMap<string, Child>;

  private constructor(
    server: NatsServer,
    members: readonly Child[],
    callers: ReadonlyMap<string, Child>,
    httpServers: ReadonlyMap<string, Child>,
    load: Child,
  ) {
    this.#server = server;
    this.#children = [load, ...callers.values(), ...httpServers.values(), ...members];
    this.#member = members[0] as Child;
    this.#callers = callers;
    this.#httpServers = httpServers;
    this.#load = load;
  }

  static async open({ cases }: Plan): Promise<ClusterSession> {
    const server = await NatsServer.start();
    const member = (service: string, slowness = 1): Promise<Child> =>
      Child.start('subjects/cluster/member-process', {
        args: [server.url, service, String(slowness)],
      });
    const members = [await member('alone'), await member('pair'), await member('pair', 3)];
    const callers = new Map<string, Child>();
    for (const one of cases) {
      if (one.name === http) continue;
      const service = one.name === fast ? 'alone' : 'pair';
      for (const way of one.subjects) {
        const args = [server.url, service, way];
        callers.set(
          `${one.name} ${way}`,
          await Child.start('subjects/cluster/caller-process', { args }),
        );
      }
    }
    const gatewayArgs = [server.url, 'alone'];
    const httpServers = new Map([
      ['gateway', await Child.start('subjects/cluster/gateway-process', { args: gatewayArgs })],
      ['direct', await Child.start('subjects/http/tandem', { args: ['1'] })],
    ]);
    const load = await Child.start('load/posts-process');
    return new ClusterSession(server, members, callers, httpServers, load);
  }

  async measure(way: string, name: string, seconds: number): Promise<readonly Reading[]> {
    if (name === http) return this.#measureHttp(way, seconds);
    const caller = this.#callers.get(`${name} ${way}`);
    if (caller === undefined) throw new Error(`${way} was not started`);
    return name === fast ? this.#measureFast(caller, seconds) : measureSlow(caller, seconds);
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
    await this.#server.close();
  }

  async #measureFast(caller: Child, seconds: number): Promise<readonly Reading[]> {
    const { questions } = addCalls('json-rpc', 'add');
    const job: ClosedJob = {
      bodies: questions.map(({ body }) => body),
      replies: questions.map(({ expected }) => JSON.stringify(expected)),
      inFlight: 64,
      seconds,
    };
    const before = await this.#othersCpuUs();
    const result = await caller.call<{ perSecond: number; calls: number; cpuUs: number }>(
      'closed',
      job,
    );
    const others = (await this.#othersCpuUs()) - before;
    return [
      rate('calls', tool, result.perSecond),
      microseconds('CPU of the caller', tool, result.cpuUs / result.calls),
      microseconds('CPU of all processes', tool, (result.cpuUs + others) / result.calls),
    ];
  }

  async #measureHttp(id: string, seconds: number): Promise<readonly Reading[]> {
    const server = this.#httpServers.get(id) as Child;
    const { path, questions } = addCalls('json-rpc', 'add');
    const goal = await probe(server.ready as number, path, questions);
    const job: PostsJob = { goal, connections: 64 };
    await this.#load.call('posts', job);
    await pause(warmUpMs);
    const own = await server.usage();
    const others = await this.#othersCpuUs();
    const [began, first] = [performance.now(), await this.#load.call<number>('count')];
    await pause(seconds * 1000);
    const ownCpuUs = (await server.usage()).cpuUs - own.cpuUs;
    const othersCpuUs = (await this.#othersCpuUs()) - others;
    const [ended, last] = [performance.now(), await this.#load.call<number>('count')];
    await this.#load.call('end');
    const calls = last - first;
    const all = id === 'gateway' ? ownCpuUs + othersCpuUs : ownCpuUs;
    return [
      rate('calls', httpTool, (calls / (ended - began)) * 1000),
      microseconds('CPU of the server', httpTool, ownCpuUs / calls),
      microseconds('CPU of all processes', httpTool, all / calls),
    ];
  }

  /** Of the member and of the server of NATS. */
  async #othersCpuUs(): Promise<number> {
    const { cpuUs } = await this.#member.usage();
    return cpuUs + cpuMicroseconds(`/proc/${this.#server.pid}/stat`);
  }
}

async function measureSlow(caller: Child, seconds: number): Promise<readonly Reading[]> {
  const job: PacedJob = { body: '{"id":1,"method":"work"}', perSecond, seconds };
  const { p50, p99 } = await caller.call<Paced>('paced', job);
  return [milliseconds('p50', tool, p50), milliseconds('p99', tool, p99)];
}

function report(series: SeriesSet): readonly Target[] {
  const over = (name: string, metric: string, one: string, other: string) => {
    const [a, b] = [series.samples(name, one, metric), series.samples(name, other, metric)];
    return a && b && ratios(a, b);
  };
  const overDirect = (metric: string) => over(http, metric, 'gateway', 'direct');
  return given(
    [
      'calls/s over a gateway over those of the server itself, HTTP',
      atLeast(0.5),
      httpTool,
      overDirect('calls'),
    ],
    [
      'CPU of all processes over that of direct HTTP',
      atMost(3),
      httpTool,
      overDirect('CPU of all processes'),
    ],
    [
      "CPU of the gateway over the server's own, HTTP",
      atMost(1.6),
      httpTool,
      overDirect('CPU of the server'),
    ],
    [
      'calls/s of frames over requests of NATS, 64 in flight',
      atLeast(2),
      tool,
      over(fast, 'calls', 'own', 'requests'),
    ],
    [
      'p99 with one slow member over that of a queue group',
      atMost(0.5),
      tool,
      over(slow, 'p99', 'own', 'requests'),
    ],
  );
}

export const cluster: Suite = {
  name: 'cluster',
  about: `Calls to members over NATS: tiny ones, 64 in flight, in process and over HTTP; and ${perSecond}/s of 20 ms to two members, one of which takes 60 ms for each.`,
  plan,
  open: (chosen) => (chosen.cases.length === 0 ? nothing : ClusterSession.open(chosen)),
  report,
};
