/**
 * Callers in one process with what carries their calls: node caller-process.js <server> <service> <way>. A way is one of the
 * gateway's (routes.ts), or `requests`: each call is a request of the NATS client to the queue group of the members.
 */
import { createHistogram } from 'node:perf_hooks';
import { connect } from '@nats-io/transport-node';
import { resolveConfig } from '../../../src/core/config/config.ts';
import { DeadlineSweep } from '../../../src/core/dispatch/deadline.ts';
import { InlineTurns } from '../../../src/core/dispatch/inline-turns.ts';
import { Kernel } from '../../../src/core/dispatch/kernel.ts';
import { ReplyMemory } from '../../../src/core/dispatch/reply-memory.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { oneCaller, Share } from '../../../src/core/dispatch/share.ts';
import { OpenStreams } from '../../../src/core/dispatch/streams/open-streams.ts';
import { createLog } from '../../../src/core/observe/log.ts';
import { promised } from '../../../src/core/protocol/reply.ts';
import { Gateway } from '../../../src/extras/nats/gateway/gateway.ts';
import { memberLimits } from '../../../src/extras/nats/liveness.ts';
import { expose } from '../../process/expose.ts';
import { connectTo } from './connect.ts';
import { type RouteName, routeOf } from './routes.ts';

type Ask = (body: string) => Promise<string>;

export interface ClosedJob {
  readonly bodies: readonly string[];
  readonly replies: readonly string[];
  readonly inFlight: number;
  readonly seconds: number;
}

export interface PacedJob {
  readonly body: string;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Paced {
  readonly p50: number;
  readonly p99: number;
}

const [, , server = '', service = '', way = ''] = process.argv;
const timeoutMs = 60_000;
const ask = way === 'requests' ? await byRequests() : await byGateway(way as RouteName);

async function byRequests(): Promise<Ask> {
  const connection = await connect({ servers: server.replace('nats://', ''), noAsyncTraces: true });
  return async (body) =>
    (await connection.request(`${service}.rpc`, body, { timeout: timeoutMs })).string();
}

async function byGateway(route: RouteName): Promise<Ask> {
  const connection = await connectTo(server);
  const config = resolveConfig();
  const deadlines = new DeadlineSweep();
  const streams = new OpenStreams(
    config,
    deadlines,
    new Share<RequestScope>(config.maxStreams, oneCaller),
    undefined,
  );
  const gateway = new Gateway(
    {
      ...config,
      connection,
      name: service,
      id: connection.nuid(),
      maxQueueMs: timeoutMs,
      namesKeptMs: 30_000,
      shares: { keyOf: () => '', weightOf: () => 1 },
      memberLimits,
      choose: routeOf(route, connection, service),
      replyMemory: new ReplyMemory(config.maxReplyMemory),
      streams,
    },
    undefined,
    createLog({ level: 'silent' }),
  );
  await new Promise<void>((resolve) => {
    gateway.onProcedures = resolve;
  });
  const routing = () => ({
    table: gateway.procedures,
    isIncomplete: false,
    streams,
    executorFor: () => gateway.executor,
  });
  const kernel = new Kernel(config, routing, new InlineTurns(oneCaller, deadlines));
  return async (body) => {
    const scope = new RequestScope({ timeoutMs });
    return String(await promised((sink) => kernel.handle(body, scope, sink)));
  };
}

/** Each lane sends its next call when its last one was answered. */
async function closed({ bodies, replies, inFlight, seconds }: ClosedJob) {
  const began = performance.now();
  const until = began + seconds * 1000;
  const { user, system } = process.cpuUsage();
  let done = 0;
  const lane = async (first: number): Promise<void> => {
    for (let n = first; performance.now() < until; n++) {
      const at = n % bodies.length;
      const reply = await ask(bodies[at] ?? '');
      if (reply !== replies[at]) throw new Error(`gave ${reply} and not ${replies[at]}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, n) => lane(n)));
  const after = process.cpuUsage();
  return {
    perSecond: (done * 1000) / (performance.now() - began),
    calls: done,
    cpuUs: after.user + after.system - user - system,
  };
}

/** Calls at a fixed rate, whether or not earlier ones are answered. */
async function paced({ body, perSecond, seconds }: PacedJob): Promise<Paced> {
  const times = createHistogram({ figures: 3 });
  const began = performance.now();
  const open: Promise<void>[] = [];
  const one = async (): Promise<void> => {
    const from = performance.now();
    const reply = await ask(body);
    if (!reply.includes('"result"')) throw new Error(`gave ${reply}`);
    times.record(Math.max(1, Math.round((performance.now() - from) * 1e6)));
  };
  while (performance.now() - began < seconds * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    while (open.length < due) open.push(one());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(open);
  return { p50: times.percentile(50) / 1e6, p99: times.percentile(99) / 1e6 };
}

expose(undefined, { closed, paced });
