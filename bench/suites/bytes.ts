import type { BytesJob } from '../load/bytes-process.ts';
import { probe, type Question } from '../load/probe.ts';
import type { Goal } from '../load/request.ts';
import { Wrk, wrkVersion } from '../load/wrk.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import type { Usage } from '../process/protocol.ts';
import { megabytes, microseconds, milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { operands, replyTo } from '../subjects/fixed.ts';
import { addCalls } from '../subjects/questions.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atMost, given, type Target } from '../targets.ts';

const subjects = [
  { id: 'json-rpc', label: 'Tandem, JSON-RPC', role: 'floor' },
  { id: 'beside', label: 'Tandem, JSON-RPC beside plain HTTP', role: 'ours' },
  { id: 'post', label: 'Tandem, POST of JSON', role: 'ours' },
  { id: 'get', label: 'Tandem, GET', role: 'ours' },
  { id: 'floor', label: 'raw uWebSockets.js, bytes dropped or fixed', role: 'floor' },
  { id: 'raw', label: 'Tandem, bytes as they are', role: 'ours' },
  { id: 'base64', label: 'Tandem, base64 in JSON-RPC', role: 'floor' },
] as const satisfies readonly Subject[];

type Id = (typeof subjects)[number]['id'];

/** The tiny calls with plain HTTP on share a process: two processes with one code differ by some percent. */
const processes = ['json-rpc', 'beside', 'floor', 'raw', 'base64'] as const satisfies readonly Id[];

function processOf(id: string): string {
  return id === 'post' || id === 'get' ? 'beside' : id;
}

const into = '5 MB into a worker, 4 at a time';
const out = '5 MB out of a worker, 4 at a time';
const light = 'a tiny inline call, 64 connections';
const bytes = 5_000_000;
const ownClient = 'own client';
/** Bodies or replies that are in memory together. */
const atOnce = 4;
const connections = 64;

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 1 : 0.5);
  const large = ['floor', 'raw', 'base64'];
  const tiny = ['json-rpc', 'beside', 'post', 'get'];
  const cases = [
    ...(wrkVersion() === undefined ? [] : [{ name: light, subjects: tiny, seconds }]),
    { name: into, subjects: large, seconds },
    { name: out, subjects: large, seconds },
  ];
  return { subjects, cases, rounds: rounds ?? (full ? 11 : 7), openSeconds: 6 };
}

/** The tiny calls without an envelope: the params by POST, or as the query of a GET. */
function plainCalls(toText: (params: { a: number; b: number }) => string): readonly Question[] {
  return addCalls('json-rpc', 'add').questions.map((_, n) => ({
    body: toText(operands(n)),
    expected: replyTo(n).result,
  }));
}

function goalOf(id: Id, port: number): Promise<Goal> {
  if (id === 'post') return probe(port, '/api/add', plainCalls(JSON.stringify));
  if (id === 'get')
    return probe(
      port,
      '/api/add',
      plainCalls(({ a, b }) => `a=${a}&b=${b}`),
      'GET',
    );
  const { path, questions } = addCalls('json-rpc', 'add');
  return probe(port, path, questions);
}

class BytesSession implements Session {
  readonly #servers: ReadonlyMap<string, Child>;
  readonly #load: Child;
  readonly #wrk = new Wrk();
  readonly #goals = new Map<string, Goal>();

  private constructor(servers: ReadonlyMap<string, Child>, load: Child) {
    this.#servers = servers;
    this.#load = load;
  }

  static async open(): Promise<BytesSession> {
    const servers = new Map<string, Child>();
    for (const id of processes) {
      const args = id === 'json-rpc' || id === 'base64' ? [] : ['plain'];
      const module = id === 'floor' ? 'subjects/bytes-floor' : 'subjects/bytes-process';
      servers.set(id, await Child.start(module, { args }));
    }
    return new BytesSession(servers, await Child.start('load/bytes-process'));
  }

  async measure(subject: string, name: string, seconds: number): Promise<readonly Reading[]> {
    const server = this.#servers.get(processOf(subject));
    if (server === undefined) throw new Error(`no server of ${subject}`);
    if (name === light) return this.#tiny(subject as Id, server, seconds);
    const job: BytesJob = {
      port: server.ready as number,
      form: subject === 'base64' ? 'json-rpc' : 'plain',
      way: name === into ? 'in' : 'out',
      bytes,
      connections: atOnce,
      seconds,
    };
    const before = await server.usage();
    const calls = await this.#load.call<number>('run', job);
    const after = await server.usage();
    return [
      milliseconds('main cpu', ownClient, (after.mainCpuUs - before.mainCpuUs) / calls / 1000),
      milliseconds('cpu', ownClient, (after.cpuUs - before.cpuUs) / calls / 1000),
      megabytes('peak rss', ownClient, after.peakRssBytes),
    ];
  }

  async close(): Promise<void> {
    this.#wrk.close();
    await Promise.all([...this.#servers.values(), this.#load].map((child) => child.stop()));
  }

  async #tiny(id: Id, server: Child, seconds: number): Promise<readonly Reading[]> {
    let goal = this.#goals.get(id);
    if (goal === undefined) {
      goal = await goalOf(id, server.ready as number);
      this.#goals.set(id, goal);
      await this.#wrk.run(goal, connections, seconds, true);
    }
    const before = await server.usage();
    const { tool, perSecond, responses } = await this.#wrk.run(goal, connections, seconds, false);
    const after: Usage = await server.usage();
    return [
      rate('requests', tool, perSecond),
      microseconds('cpu', tool, (after.cpuUs - before.cpuUs) / responses),
    ];
  }
}

function report(series: SeriesSet): readonly Target[] {
  const over = (name: string, above: Id, below: Id, metric = 'cpu'): number[] | undefined => {
    const a = series.samples(name, above, metric);
    const b = series.samples(name, below, metric);
    return a && b && ratios(a, b);
  };
  const cpuOf = (what: string) => `CPU of an inline add ${what}, over JSON-RPC`;
  return [
    ...given(
      [cpuOf('by POST'), atMost(1.1), 'wrk', over(light, 'post', 'beside')],
      [cpuOf('by GET'), atMost(1.1), 'wrk', over(light, 'get', 'beside')],
      [
        'CPU of an inline add by JSON-RPC with plain HTTP on, over off',
        atMost(1.01),
        'wrk',
        over(light, 'beside', 'json-rpc'),
      ],
    ),
    ...[into, out].flatMap((name) =>
      given(
        [
          `CPU of the main thread, ${name}, over base64`,
          atMost(0.75),
          ownClient,
          over(name, 'raw', 'base64', 'main cpu'),
        ],
        [`CPU, ${name}, over base64`, atMost(0.33), ownClient, over(name, 'raw', 'base64')],
        [
          `peak memory over that of base64, ${name}`,
          atMost(1),
          ownClient,
          over(name, 'raw', 'base64', 'peak rss'),
        ],
      ),
    ),
  ];
}

export const bytesSuite: Suite = {
  name: 'bytes',
  about: 'Plain HTTP beside JSON-RPC: a tiny call, and 5 MB of bytes beside the same as base64.',
  plan,
  open: () => BytesSession.open(),
  report,
};
