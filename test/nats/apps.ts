import { provideCluster } from '../../src/core/service/cluster.ts';
import { type MemberLimits, memberLimits } from '../../src/extras/nats/liveness.ts';
import { connectServices } from '../../src/extras/nats/transport.ts';
import { type AppOptions, Router, type RpcApp, Type } from '../../src/index.ts';
import { startApp } from '../harness.ts';
import { postJson } from '../post-json.ts';
import { until } from '../turns.ts';

/** Who ends what was started: a test, or a soak. */
export interface Lifetime {
  after(end: () => Promise<void>): void;
}

export interface Served {
  readonly app: RpcApp;
  readonly url: string;
}

/** An app of this process, which ends with who started it. */
export async function serve(t: Lifetime, options: AppOptions): Promise<Served> {
  return startApp(t, options);
}

export interface Named {
  readonly name?: string;
  readonly procedures?: readonly string[];
  readonly options?: Omit<AppOptions, 'nats' | 'router'>;
  readonly version?: string;
}

/** A member that serves procedures of these names: each tells who ran it, and what it was given. */
export function member(t: Lifetime, servers: string, named: Named = {}): Promise<Served> {
  const { name = 'one', procedures = ['who'], options, version } = named;
  const router = new Router();
  for (const procedure of procedures) {
    router.rpc(
      { name: procedure, params: Type.Object({ text: Type.Optional(Type.String()) }) },
      async ({ text }, { auth, remoteAddress }) => ({ name, text, auth, remoteAddress }),
    );
  }
  router.rpc({ name: `only.${name}`, params: Type.Object({}) }, async () => name);
  const nats = { servers, role: 'member' as const, serviceVersion: version };
  return serve(t, { ...options, router, nats });
}

export function gateway(
  t: Lifetime,
  servers: string,
  options: Omit<AppOptions, 'nats'> = {},
): Promise<Served> {
  return serve(t, { ...options, nats: { servers, role: 'gateway' } });
}

/** Starts a gateway with `start` that gives members up at other times than usual, or sends more or less to one. */
export async function withLimits<T>(
  limits: Partial<MemberLimits>,
  start: () => Promise<T>,
): Promise<T> {
  provideCluster(
    async () => (options, signal) =>
      connectServices(options, signal, { ...memberLimits, ...limits }),
  );
  try {
    return await start();
  } finally {
    provideCluster(async () => connectServices);
  }
}

interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const text = await (await postJson(url, body, headers)).text();
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}

export async function call(
  url: string,
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return (await post(url, { jsonrpc: '2.0', method, params, id: 1 }, headers)) as Answer;
}

export async function untilReady(url: string, status = 'ready'): Promise<void> {
  const { href } = new URL('/readyz', url);
  await until(async () => (await (await fetch(href)).text()).includes(`"${status}"`));
}
