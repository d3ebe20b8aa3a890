import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Authenticator,
  createAuthenticator,
} from '../../../src/core/dispatch/authenticate.ts';
import { RequestBody } from '../../../src/core/dispatch/body-memory.ts';
import { overloadedReply } from '../../../src/core/dispatch/call.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import type { Service } from '../../../src/core/dispatch/service.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { errorReply, type Reply } from '../../../src/core/protocol/reply.ts';
import type { Connection, SentFacts, Server, Subject, TransportOptions } from '../subject.ts';
import { piecesOf } from './pieces.ts';

/**
 * The contract of a transport in its smallest form: messages and answers go from one object to another. What it leaves
 * out is what sockets ask for: a caller here takes its answers at once, so none of them waits in the memory for replies.
 */
class LoopbackServer implements Server {
  readonly service: Service;
  readonly maxMessageBytes: number;
  readonly authenticator: Authenticator<SentFacts> | undefined;
  /** Requests that have begun and are neither answered nor left. */
  readonly open = new Set<LoopbackRequest>();
  readonly #events = new EventEmitter();
  #isClosed = false;

  constructor(service: Service, { maxMessageBytes, askCaller }: TransportOptions) {
    this.service = service;
    this.maxMessageBytes = maxMessageBytes;
    this.authenticator =
      askCaller &&
      createAuthenticator(
        'authenticate',
        ({ token }: SentFacts) => askCaller(token),
        () => {},
      );
  }

  async connect(): Promise<Connection> {
    if (this.#isClosed) throw new Error('closed');
    return new LoopbackConnection(this);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.open.size > 0) await once(this.#events, 'settled');
  }

  settled(request: LoopbackRequest): void {
    this.open.delete(request);
    this.#events.emit('settled');
  }
}

/** The server's side of one request. */
class LoopbackRequest {
  readonly #server: LoopbackServer;
  readonly #caller: LoopbackConnection;
  readonly #scope: RequestScope;
  readonly #body: RequestBody | undefined;
  #isHandled = false;
  #isOver = false;

  constructor(
    server: LoopbackServer,
    caller: LoopbackConnection,
    facts: SentFacts,
    length: number,
  ) {
    this.#server = server;
    this.#caller = caller;
    server.open.add(this);
    const { tenant, timeoutMs, traceparent } = facts;
    const headers = tenant === undefined ? undefined : { 'x-tenant': tenant };
    const scope = new RequestScope({ headers, timeoutMs, traceparent, remoteAddress: 'loopback' });
    this.#scope = scope;
    const { maxMessageBytes: limit, service, authenticator } = server;
    if (length > limit) {
      this.#answer(errorReply('null', ErrorCode.LimitExceeded, { limit }));
      return;
    }
    const body = RequestBody.reserve(service.bodyMemory, length, scope);
    if (typeof body === 'string') {
      this.#answer(overloadedReply(body));
      return;
    }
    this.#body = body;
    scope.body = body.lease;
    if (authenticator !== undefined) scope.verdict = authenticator(facts);
  }

  /** A piece of its body has come. */
  add(piece: Uint8Array): void {
    if (this.#isOver || this.#body === undefined) return;
    this.#body.add(piece);
    if (this.#body.missing > 0) return;
    this.#isHandled = true;
    this.#server.service.handle(this.#body.end(), this.#scope, {
      onReply: (reply) => {
        this.#body?.release();
        if (!this.#isOver) this.#answer(reply);
      },
    });
  }

  /** The caller has gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#isHandled) this.#body?.release();
    this.#server.settled(this);
    this.#scope.cancel();
  }

  #answer(reply: Reply): void {
    this.#isOver = true;
    this.#caller.deliver(reply === undefined ? undefined : Buffer.from(reply).toString());
    this.#caller.requests.delete(this);
    this.#server.settled(this);
  }
}

class LoopbackConnection implements Connection {
  /** Those that have no answer yet. */
  readonly requests = new Set<LoopbackRequest>();
  readonly #server: LoopbackServer;
  readonly #answers: (string | undefined)[] = [];
  readonly #events = new EventEmitter();

  constructor(server: LoopbackServer) {
    this.#server = server;
  }

  async send(message: string | Uint8Array, facts: SentFacts = {}, pieces = 1): Promise<void> {
    const bytes = Buffer.from(message as Uint8Array);
    const request = this.#begin(facts, bytes.length);
    if (bytes.length === 0) request.add(bytes);
    for (const piece of piecesOf(bytes, pieces)) {
      request.add(piece);
      if (pieces > 1) await nextTurn();
    }
  }

  async sendPart(message: string): Promise<void> {
    const bytes = Buffer.from(message);
    this.#begin({}, bytes.length).add(bytes.subarray(0, -1));
  }

  async receive(): Promise<string | undefined> {
    while (this.#answers.length === 0) await once(this.#events, 'answer');
    return this.#answers.shift();
  }

  leave(): void {
    for (const request of this.requests) request.leave();
    this.requests.clear();
  }

  deliver(answer: string | undefined): void {
    this.#answers.push(answer);
    this.#events.emit('answer');
  }

  #begin(facts: SentFacts, length: number): LoopbackRequest {
    const request = new LoopbackRequest(this.#server, this, facts, length);
    this.requests.add(request);
    return request;
  }
}

export const loopback: Subject = {
  name: 'loopback',
  can: [
    'messages',
    'metadata',
    'authenticates',
    'says-nothing',
    'counts-bodies',
    'reads-on',
    'pieces',
    'sees-leaving',
  ],
  carries: () => true,
  serve: async (service, options) => new LoopbackServer(service, options),
};
