import { availableParallelism } from 'node:os';
import { probe } from '../load/probe.ts';
import type { Goal } from '../load/request.ts';
import { Child } from '../process/child.ts';
import type { Subject } from '../subject.ts';
import type { Asked, Dialect } from './questions.ts';

export interface ServerSubject extends Subject {
  /** A path below bench/. */
  readonly module: string;
  readonly dialect: Dialect;
  /** The method of the tiny call. */
  readonly method: string;
  readonly args?: readonly string[];
}

/** One core stays with the main thread. */
export const poolThreads = Math.max(1, availableParallelism() - 1);

function server(
  id: string,
  label: string,
  role: Subject['role'],
  rest: Pick<ServerSubject, 'dialect' | 'method'> & Partial<ServerSubject>,
): ServerSubject {
  return { id, label, role, module: `subjects/http/${id}`, args: [String(poolThreads)], ...rest };
}

const routes = { dialect: 'routes', method: 'add' } as const;
const rpc = { dialect: 'json-rpc', method: 'add' } as const;
const pooled = 'pooledAdd';

export const uwsFloor = server('uws-floor', 'raw uWebSockets.js, fixed reply', 'floor', {
  dialect: 'fixed',
  method: 'add',
});
export const tandem = server('tandem', 'Tandem, inline', 'ours', rpc);
/** With default options, the number of workers too. */
export const tandemByDefault = server('tandem', 'Tandem, default options', 'ours', {
  ...rpc,
  module: 'subjects/http/mixture',
  args: [],
});
export const tandemWithoutSpare = server(
  'tandem-no-spare',
  'Tandem, without the express worker',
  'ours',
  {
    ...rpc,
    module: 'subjects/http/mixture',
    args: ['no-spare'],
  },
);
const tandemPooled = server('tandem-pooled', 'Tandem, pooled', 'ours', {
  ...rpc,
  method: pooled,
  module: 'subjects/http/tandem',
});
export const uwsPiscina = server('uws-piscina', 'uWebSockets.js + piscina', 'rival', {
  ...rpc,
  method: pooled,
});
const uwsPiscinaText = server(
  'uws-piscina-text',
  'uWebSockets.js + piscina, 64 tasks per worker, text passed on unread',
  'rival',
  { ...rpc, method: pooled },
);
export const fastify = server('fastify', 'fastify', 'rival', routes);
export const fastifyPiscina = server('fastify-piscina', 'fastify + piscina', 'rival', {
  ...routes,
  method: pooled,
});
const jayson = server('jayson', 'jayson', 'rival', rpc);

export const httpServers: readonly ServerSubject[] = [
  uwsFloor,
  tandem,
  tandemPooled,
  uwsPiscinaText,
  uwsPiscina,
  server('json-rpc-2-0', 'node:http + json-rpc-2.0', 'rival', rpc),
  jayson,
  fastify,
  fastifyPiscina,
  server('orpc', 'oRPC', 'rival', { ...rpc, dialect: 'orpc' }),
  server('trpc', 'tRPC', 'rival', { ...rpc, dialect: 'trpc' }),
];

const onNode = {
  ...rpc,
  module: 'subjects/http/tandem',
  args: [String(poolThreads), '', 'node'],
};

/** The first two need a binary of uWebSockets.js. */
export const transportServers: readonly ServerSubject[] = [
  tandem,
  tandemPooled,
  server('node-floor', 'raw node:http, fixed reply', 'floor', {
    dialect: 'fixed',
    method: 'add',
  }),
  server('tandem-node', 'Tandem on node:http, inline', 'ours', onNode),
  server('tandem-node-pooled', 'Tandem on node:http, pooled', 'ours', {
    ...onNode,
    method: pooled,
  }),
  fastify,
  fastifyPiscina,
];

/** A server that runs in a process of its own. */
export class RunningServer {
  readonly process: Child;
  readonly port: number;

  private constructor(process: Child) {
    this.process = process;
    this.port = process.ready as number;
  }

  static async start(
    { module, args = [] }: ServerSubject,
    nodeFlags: readonly string[] = [],
  ): Promise<RunningServer> {
    return new RunningServer(await Child.start(module, { args, nodeFlags }));
  }

  /** The goal for these questions. Each question is asked once first, and must get its right answer. */
  goal({ path, questions }: Asked): Promise<Goal> {
    return probe(this.port, path, questions);
  }

  stop(): Promise<void> {
    return this.process.stop();
  }
}

/** Starts servers one after another: started together, each would slow the others' warm-up. */
export async function startServers(
  subjects: readonly ServerSubject[],
): Promise<Map<string, RunningServer>> {
  const servers = new Map<string, RunningServer>();
  for (const subject of subjects) servers.set(subject.id, await RunningServer.start(subject));
  return servers;
}

export async function stopServers(servers: ReadonlyMap<string, RunningServer>): Promise<void> {
  await Promise.all([...servers.values()].map((one) => one.stop()));
}
