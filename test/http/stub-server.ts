import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { TestContext } from 'node:test';
import { resolveConfig } from '../../src/core/config/config.ts';
import { createAuthenticator } from '../../src/core/dispatch/authenticate.ts';
import { BodyMemory } from '../../src/core/dispatch/body-memory.ts';
import { awaitVerdict, DeadlineSweep } from '../../src/core/dispatch/deadline.ts';
import { ReplyMemory } from '../../src/core/dispatch/reply-memory.ts';
import type { RequestScope } from '../../src/core/dispatch/scope.ts';
import type { Service, ServiceState } from '../../src/core/dispatch/service.ts';
import type { Reply, ReplySink } from '../../src/core/protocol/reply.ts';
import { Tracing } from '../../src/core/service/tracing.ts';
import type { Authenticate } from '../../src/index.ts';
import { type HttpOptions, socketIdleMs } from '../../src/server/http/edge/http-options.ts';
import type { HttpServer } from '../../src/server/http/edge/http-server.ts';
import { listen } from '../../src/server/http/listen.ts';
import type { Certificate } from './certificate.ts';
import { RawClient } from './raw-client.ts';

interface Call {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: unknown;
}

/** One call of `later`, held until the test lets it go. */
export interface Held {
  readonly scope: RequestScope;
  readonly params: unknown;
  readonly release: () => void;
}

/**
 * A Service small enough to see through: `echo` answers at once, `soon` a little later,
 * `later` when the test says so, `large` with as many bytes as it is told.
 */
export class StubService implements Service {
  state: ServiceState = 'ready';
  bodyMemory = new BodyMemory(256 * 1024 ** 2, 10 * 1024 ** 2);
  readonly replyMemory = new ReplyMemory(256 * 1024 ** 2);
  document = { bytes: Buffer.from('{"echo":{"name":"echo"}}'), version: 'one' };
  /** The scopes of the calls that were handed over, in their order. */
  readonly scopes: RequestScope[] = [];
  /** What each scope said while its call ran: an address is read when it is asked for. */
  readonly facts: { readonly headers: unknown; readonly address: unknown; readonly ms: unknown }[] =
    [];
  /** How each body was handed over. */
  readonly bodies: { readonly kind: string; readonly bytes: number; readonly shared: boolean }[] =
    [];
  /** The last body itself, as it is now: a view may be empty by then. */
  lastBody: string | Uint8Array = '';
  readonly held: Held[] = [];
  readonly #events = new EventEmitter();

  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink): void {
    this.scopes.push(scope);
    this.facts.push({
      headers: scope.headers,
      address: scope.remoteAddress,
      ms: scope.timeoutMs,
    });
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    this.lastBody = body;
    this.bodies.push({
      kind: typeof body === 'string' ? 'string' : 'bytes',
      bytes: Buffer.byteLength(body),
      shared: typeof body !== 'string' && body.buffer instanceof SharedArrayBuffer,
    });
    let call: Call;
    try {
      call = JSON.parse(text) as Call;
    } catch {
      sink.onReply('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}');
      return;
    }
    const reply = this.#run(call, scope);
    if (reply instanceof Promise) void reply.then((settled) => sink.onReply(settled));
    else sink.onReply(reply);
  }

  admit(scope: RequestScope) {
    return scope.verdict === undefined
      ? undefined
      : awaitVerdict(scope, scope.verdict, new DeadlineSweep());
  }

  tracing: Service['tracing'] = undefined;
  metrics: Service['metrics'] = { bytes: async () => Buffer.from('stub_calls_total 1\n') };

  async introspect() {
    return this.document;
  }

  served() {
    return undefined;
  }

  /** Begins spans by the OpenTelemetry API. */
  trace(): void {
    this.tracing = Tracing.load();
  }

  /** Has room for so many bodies of at most `maxBodyBytes`. */
  limitBodies(count: number, maxBodyBytes: number): void {
    this.bodyMemory = new BodyMemory(count * maxBodyBytes, maxBodyBytes);
  }

  /** Resolves when `count` calls of `later` are held. */
  async entered(count: number): Promise<void> {
    while (this.held.length < count) await once(this.#events, 'held');
  }

  #run(call: Call, scope: RequestScope): Reply | Promise<Reply> {
    const answer = (result: unknown): Reply =>
      call.id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id: call.id, result });
    switch (call.method) {
      case 'soon':
        return Promise.resolve(answer(call.params));
      case 'later':
        return new Promise((resolve) => {
          const release = () => resolve(answer(call.params));
          this.held.push({ scope, params: call.params, release });
          this.#events.emit('held');
        });
      case 'large':
        return answer('x'.repeat(Number(call.params)));
      case 'largeBytes':
        return Buffer.from(answer('é'.repeat(Number(call.params) / 2)) ?? '');
      case 'throws':
        throw new Error('stub');
      default:
        return answer(call.params);
    }
  }
}

export const defaults: HttpOptions = {
  ...resolveConfig(
    {
      port: 0,
      // Longer than any test may take: a request that is never counted out fails its test.
      shutdownGraceMs: 300_000,
    },
    {},
  ),
  sharedPort: false,
  socketIdleMs,
  routes: () => [],
  openApi: undefined,
  callerHeader: undefined,
  authenticate: undefined,
  serves: 'all',
  onConnectionRefused: () => {},
  onForeign: () => {},
  warn: (message) => assert.fail(`unexpected warning: ${message}`),
  tellTransport: () => {},
};

/** The option of a server whose hook says who calls. A fault of the hook is nowhere told. */
export function asking(authenticate: Authenticate): Pick<HttpOptions, 'authenticate'> {
  return { authenticate: createAuthenticator('authenticate', authenticate, () => {}) };
}

export interface Running {
  readonly server: HttpServer;
  readonly service: StubService;
  readonly port: number;
  /** @param localAddress see RawClient */
  readonly client: (localAddress?: string) => RawClient;
}

export type Start = (t: TestContext, options?: Partial<HttpOptions>) => Promise<Running>;

/**
 * Starts servers on one transport, and fails where another one answered.
 *
 * @param certificate what connections are encrypted with; undefined: they are not
 */
export function starter(
  transport: 'uws' | 'node',
  certificate?: Pick<Certificate, 'keyPath' | 'certPath' | 'cert'>,
): Start {
  const tls = certificate && { tlsKey: certificate.keyPath, tlsCert: certificate.certPath };
  return async (t, options = {}) => {
    const service = new StubService();
    const server = await listen(service, { ...defaults, ...tls, ...options }, transport);
    assert.equal(server.transport, transport);
    const clients: RawClient[] = [];
    t.after(async () => {
      for (const client of clients) client.destroy();
      for (const { release } of service.held) release();
      await server.close();
    });
    const { port, socket } = server.address;
    const client = (localAddress?: string) => {
      const made = new RawClient(socket ?? port, '127.0.0.1', certificate?.cert, localAddress);
      clients.push(made);
      return made;
    };
    return { server, service, port, client };
  };
}
