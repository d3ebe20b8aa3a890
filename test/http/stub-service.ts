import { EventEmitter, once } from 'node:events';
import { BodyMemory } from '../../src/core/dispatch/body-memory.ts';
import { awaitVerdict, DeadlineSweep } from '../../src/core/dispatch/deadline.ts';
import { ReplyMemory } from '../../src/core/dispatch/reply-memory.ts';
import type { RequestScope } from '../../src/core/dispatch/scope.ts';
import type { Service, ServiceState } from '../../src/core/dispatch/service.ts';
import type { Reply } from '../../src/core/protocol/reply.ts';
import { Tracing } from '../../src/core/service/tracing.ts';

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
 * A Service small enough to see through: `echo` answers at once, `soon` by a promise that is kept
 * already, `later` when the test says so, `large` with as many bytes as it is told.
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

  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply> {
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
      return '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
    }
    return this.#run(call, scope);
  }

  admit(scope: RequestScope) {
    return scope.verdict === undefined
      ? undefined
      : awaitVerdict(scope, scope.verdict, new DeadlineSweep());
  }

  tracing: Service['tracing'] = undefined;
  metrics: Service['metrics'] = { bytes: async () => Buffer.from('stub_calls_total 1\n') };

  introspect() {
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
      case 'rejects':
        return Promise.reject(new Error('stub'));
      default:
        return answer(call.params);
    }
  }
}
