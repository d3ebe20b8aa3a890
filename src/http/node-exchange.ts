import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestScope } from '../dispatch/scope.ts';
import type { Service } from '../dispatch/service.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import { type Answer, failure } from './answer.ts';
import { Body, isSmall } from './body.ts';
import type { CorsLines } from './cors.ts';
import type { InFlight } from './in-flight.ts';
import { largeBytes, writeDeadlineMs } from './limits.ts';
import type { NodeConnection, OnConnection } from './node-connection.ts';

/** What every request of one handler shares. */
export interface NodeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  /** See HttpOptions. */
  readonly writeTimeoutMs: number;
}

/** One request on node:http, from its handler to its last byte. */
export class NodeExchange implements OnConnection {
  readonly #context: NodeContext;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #connection: NodeConnection;
  readonly #cors: CorsLines;
  /** A reply was given to node:http. */
  #replied = false;
  #over = false;
  #scope: RequestScope | undefined;
  #writeTimer: NodeJS.Timeout | undefined;

  constructor(
    context: NodeContext,
    connection: NodeConnection,
    req: IncomingMessage,
    res: ServerResponse,
    cors: CorsLines,
  ) {
    this.#context = context;
    this.#connection = connection;
    this.#req = req;
    this.#res = res;
    this.#cors = cors;
    context.inFlight.enter();
    connection.add(this);
    // After the last byte was handed to the system, or when the client has gone.
    res.once('close', () => this.disconnected());
  }

  disconnected(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#writeTimer);
    this.#connection.delete(this);
    this.#context.inFlight.leave();
    if (!this.#res.writableFinished) this.#scope?.cancel();
  }

  /** Reads the body and answers it. */
  call(contentLength: number, scope: RequestScope): void {
    this.#scope = scope;
    let whole: Uint8Array | undefined;
    let body: Body | undefined;
    this.#req.on('data', (chunk: Buffer) => {
      if (body === undefined && chunk.byteLength === contentLength && isSmall(contentLength)) {
        whole = chunk;
        return;
      }
      body ??= new Body(contentLength);
      body.add(chunk);
    });
    this.#req.on('end', () => this.#handle(whole ?? body?.take() ?? new Uint8Array(0), scope));
  }

  /** Answers a body that was read before this handler got the request. */
  callRead(body: string | Uint8Array, scope: RequestScope): void {
    this.#scope = scope;
    this.#handle(body, scope);
  }

  /** Writes what is no JSON-RPC reply and may have to be waited for. */
  answerOnce(make: (scope: RequestScope) => Answer | Promise<Answer>): void {
    this.#scope = new RequestScope();
    const answer = make(this.#scope);
    if (answer instanceof Promise) {
      answer.then(
        (settled) => this.answer(settled),
        (error: unknown) => this.#fail(error),
      );
    } else {
      this.answer(answer);
    }
  }

  /** Writes what is no JSON-RPC reply. */
  answer(answer: Answer): void {
    this.#write(answer.status, answer.headers, answer.body, answer.close);
  }

  #handle(body: string | Uint8Array, scope: RequestScope): void {
    let reply: Reply | Promise<Reply>;
    try {
      reply = this.#context.service.handle(body, scope);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (reply instanceof Promise) {
      reply.then(
        (settled) => this.#send(settled),
        (error: unknown) => this.#fail(error),
      );
    } else {
      this.#send(reply);
    }
  }

  #send(reply: Reply): void {
    if (reply === undefined) this.#write(204, [], undefined, false);
    else this.#write(200, ['content-type', 'application/json'], reply, false);
  }

  /** The one place a reply is written. */
  #write(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array | undefined,
    close: boolean,
  ): void {
    if (this.#replied || this.#over) return;
    this.#replied = true;
    this.#connection.refused ||= close;
    const lines = [...headers, ...this.#cors.lines];
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    if (body !== undefined) lines.push('content-length', String(bytes));
    const draining = this.#context.inFlight.draining && this.#connection.isLast(this);
    if (close || draining) lines.push('connection', 'close');
    this.#res.writeHead(status, lines);
    if (body === undefined || this.#req.method === 'HEAD') this.#res.end();
    else this.#res.end(body);
    if (bytes > largeBytes) {
      // A client that does not read would keep the whole reply in memory.
      this.#writeTimer = setTimeout(
        () => this.#res.destroy(),
        writeDeadlineMs(bytes, this.#context.writeTimeoutMs),
      );
    }
  }

  /** The service broke its word: it never throws and never rejects. */
  #fail(error: unknown): void {
    this.#context.warn(`service failed under a request: ${String(error)}`);
    this.answer(failure('the service failed'));
  }
}
