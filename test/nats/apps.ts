import { provideCluster } from '../../src/core/service/cluster.ts';
import { type MemberLimits, memberLimits } from '../../src/extras/nats/liveness.ts';
import { connectServices } from '../../src/extras/nats/transport.ts';
import { type AppOptions, Router, Type } from '../../src/index.ts';
import { type Lifetime, type StartedApp, startApp } from '../harness.ts';
import { until } from '../turns.ts';

export { startApp as serve } from '../harness.ts';
export { callAt as call } from '../post-json.ts';

export interface Named {
  readonly name?: string;
  readonly procedures?: readonly string[];
  readonly options?: Omit<AppOptions, 'nats' | 'router'>;
  readonly version?: string;
}

/** A member that serves procedures of these names: each tells who ran it, and what it was given. */
export function member(t: Lifetime, servers: string, named: Named = {}): Promise<StartedApp> {
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
  return startApp(t, { ...options, router, nats });
}

export function gateway(
  t: Lifetime,
  servers: string,
  options: Omit<AppOptions, 'nats'> = {},
): Promise<StartedApp> {
  return startApp(t, { ...options, nats: { servers, role: 'gateway' } });
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

export async function untilReady(url: string, status = 'ready'): Promise<void> {
  const { href } = new URL('/readyz', url);
  await until(async () => (await (await fetch(href)).text()).includes(`"${status}"`));
}
