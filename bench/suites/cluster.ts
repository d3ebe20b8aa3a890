import { readFileSync } from 'node:fs';
import { findNatsServer, NatsServer } from '../../test/nats/nats-server.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
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
];

const fast = '64 calls in flight, one member';
const slow = 'one of two members 3 times slower';
const tool = 'callers in process';

/** More than half of what both members can do (1067 calls/s): half of it is more than the slow one can. */
const perSecond = 600;

function plan({ full, only, duration, rounds }: Options): Plan {
  // Without a server of NATS there is nothing to measure.
  if (findNatsServer() === undefined) return { subjects, cases: [], rounds: 0, openSeconds: 0 };
  const isWanted = full || only.includes('cluster');
  const cases = [
    { name: fast, subjects: ['own', 'requests'], seconds: duration ?? (full ? 3 : 0.5) },
    ...(isWanted
      ? [{ name: slow, subjects: subjects.map(({ id }) => id), seconds: duration ?? 4 }]
      : []),
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

  private constructor(
    server: NatsServer,
    members: readonly Child[],
    callers: ReadonlyMap<string, Child>,
  ) {
    this.#server = server;
    this.#children = [...members, ...callers.values()];
    this.#member = members[0] as Child;
    this.#callers = callers;
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
      const service = one.name === fast ? 'alone' : 'pair';
      for (const way of one.subjects) {
        const args = [server.url, service, way];
        callers.set(
          `${one.name} ${way}`,
          await Child.start('subjects/cluster/caller-process', { args }),
        );
      }
    }
    return new ClusterSession(server, members, callers);
  }

  async measure(way: string, name: string, seconds: number): Promise<readonly Reading[]> {
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

  /** Of the member and of the server of NATS. */
  async #othersCpuUs(): Promise<number> {
    const { cpuUs } = await this.#member.usage();
    return cpuUs + cpuOf(this.#server.pid);
  }
}

/** CPU time of a process, microseconds, to 10 ms: Linux tells no more of others. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
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
  return given(
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
  about: `Calls to members over NATS: tiny ones, 64 in flight; and ${perSecond}/s of 5 ms to two members, one of which takes 15 ms for each.`,
  plan,
  open: (chosen) => (chosen.cases.length === 0 ? nothing : ClusterSession.open(chosen)),
  report,
};
