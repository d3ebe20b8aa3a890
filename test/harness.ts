/** Starts dispatchers, apps and servers for tests, and closes them at the end of a test, a suite or a file. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach } from 'node:test';
import type { FastifyInstance } from 'fastify';
import {
  type AppOptions,
  Dispatcher,
  type DispatcherOptions,
  type DispatchOptions,
  type Log,
  RpcApp,
} from '../src/index.ts';
import type { Lifetime } from './files.ts';
import { RawClient } from './http/raw-client.ts';
import { patience } from './patience.ts';
import { usualServer } from './servers.ts';

export type { Lifetime };

/** What begins later ends earlier, and each end is awaited. */
export function inReverse(t: Lifetime): Lifetime {
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.reverse()) await end();
  });
  return { after: (end) => ends.push(end) };
}

/** That of the suite or file being defined. Its `before` may start what ends with it: `after` called there would belong to `before`. */
export function suiteLifetime(): Lifetime {
  return inReverse({ after });
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A log that keeps its lines. */
export function recorder(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write =
    (level: LogLine['level']): Log['info'] =>
    (fields, message) =>
      void lines.push({ level, fields, message });
  const log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  return { log, lines };
}

/** One worker, which other processes on the machine can't keep from answering. */
export const usual = { workers: 1, spareWorkers: 0, niceIncrement: 0, ...patience } as const;

/** A dispatcher with a log that is kept. It starts with its first call, or by one of the functions that make it. */
export class TestService {
  readonly dispatcher: Dispatcher;
  readonly lines: LogLine[];

  constructor(options: DispatcherOptions) {
    const { log, lines } = recorder();
    this.lines = lines;
    this.dispatcher = new Dispatcher({ ...usual, log, ...options });
  }

  /** Starts before the first test of a suite or a file, and ends after its last. */
  static suite<T extends TestService>(
    this: new (
      options: DispatcherOptions,
    ) => T,
    options: DispatcherOptions = {},
  ): T {
    const service = new this(options);
    before(() => service.dispatcher.ready());
    beforeEach(() => service.reset());
    after(() => service.end());
    return service;
  }

  /** For one test, not started. */
  static make<T extends TestService>(
    this: new (
      options: DispatcherOptions,
    ) => T,
    t: Lifetime,
    options: DispatcherOptions = {},
  ): T {
    const service = new this(options);
    t.after(() => service.end());
    return service;
  }

  /** For one test, started. */
  static async start<T extends TestService>(
    this: new (
      options: DispatcherOptions,
    ) => T,
    t: Lifetime,
    options: DispatcherOptions = {},
  ): Promise<T> {
    const service = new this(options);
    t.after(() => service.end());
    await service.dispatcher.ready();
    return service;
  }

  /** Before each test of a suite. */
  reset(): void {}

  end(): Promise<void> {
    return this.dispatcher.close(0);
  }

  /** The text of the reply. */
  ask(request: unknown, options: DispatchOptions = {}): Promise<string | undefined> {
    return this.dispatcher.dispatchText(JSON.stringify(request), options);
  }

  get threads(): number[] {
    return this.dispatcher.stats().pool?.workers.map(({ threadId }) => threadId) ?? [];
  }
}

/** A server of node:http that somebody else owns. @returns its port */
export async function listenTo(
  t: Lifetime,
  listener: (...all: Parameters<RequestListener>) => unknown,
  upgrade?: Parameters<Server['on']>[1],
): Promise<number> {
  const server = createServer(listener);
  if (upgrade !== undefined) server.on('upgrade', upgrade);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * Clients that write bytes as they are, destroyed at the end.
 *
 * @param place a port, or the path of a Unix socket
 * @returns opens a connection, from any address in 127.0.0.0/8
 */
export function rawClients(t: Lifetime, place: number | string): (from?: string) => RawClient {
  const open = new Set<RawClient>();
  t.after(() => {
    for (const client of open) client.destroy();
  });
  return (from) => {
    const client = new RawClient(place, '127.0.0.1', undefined, from);
    open.add(client);
    client.socket.once('close', () => open.delete(client));
    return client;
  };
}

/** A client of a server of node:http that somebody else owns. Both end with the test. */
export async function listenerClient(t: Lifetime, listener: RequestListener): Promise<RawClient> {
  const own = inReverse(t);
  return rawClients(own, await listenTo(own, listener))();
}

/** A client of a server of Fastify, which it has listen. Both end with the test. */
export async function fastifyClient(t: Lifetime, web: FastifyInstance): Promise<RawClient> {
  await web.listen({ port: 0, host: '127.0.0.1' });
  const own = inReverse(t);
  own.after(() => web.close());
  return rawClients(own, (web.server.address() as AddressInfo).port)();
}

/** An app with a log that is kept, not started: a test mounts its handlers. */
export function makeApp(t: Lifetime, options: AppOptions) {
  const { log, lines } = recorder();
  const app = new RpcApp({ ...usual, port: 0, log, ...options });
  t.after(() => app.close());
  return { app, lines };
}

/** An app that listens, and a log that is kept. Fails if another server answers than the one that `transport` names. */
export async function startApp(t: Lifetime, options: AppOptions) {
  const transport = options.transport ?? usualServer;
  // Clients go before the app, which waits for their requests.
  const own = inReverse(t);
  const { app, lines } = makeApp(own, { ...options, transport });
  const address = await app.listen();
  assert.equal(app.transport, transport);
  return { ...address, app, lines, client: rawClients(own, address.socket ?? address.port) };
}

/** An app that is ready, mounted in a server of node:http that somebody else owns, and a log that is kept. */
export async function mountApp(
  t: Lifetime,
  options: AppOptions,
  listenerOf: (app: RpcApp) => RequestListener = (app) => app.nodeHandler(),
) {
  const own = inReverse(t);
  const { app, lines } = makeApp(own, options);
  const port = await listenTo(own, listenerOf(app));
  await app.dispatcher.ready();
  return { port, app, lines, client: rawClients(own, port) };
}

export type StartedApp = Awaited<ReturnType<typeof startApp>>;
