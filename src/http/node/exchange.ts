import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WaitingReply } from '../../dispatch/reply-memory.ts';
import { type GoesToSink, goesToSink } from '../../dispatch/reply-sink.ts';
import type { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { largeBody } from '../../jsonrpc/body.ts';
import { type Answer, lateBody, serviceFailed } from '../edge/answer.ts';
import type { ArrivingBody, BodyDeadlines } from '../edge/body-deadlines.ts';
import {
  type BodyAnswer,
  type BodyHandler,
  type BodySink,
  isAnswer,
} from '../edge/body-handler.ts';
import type { ChunkedBody } from '../edge/chunked-body.ts';
import type { CorsLines } from '../edge/cors.ts';
import type { InFlight } from '../edge/in-flight.ts';
import { bodyDeadlineMs, writeDeadlineMs } from '../edge/limits.ts';
import { rateLimitLines } from '../edge/rate-limit-lines.ts';
import type { ReplyTurns, TurnSender } from '../edge/reply-turns.ts';
import type { HttpSpan } from '../edge/span.ts';
import { EventStream, type EventStreamOptions } from '../event-stream/event-stream.ts';
import { eventStreamLines } from '../event-stream/event-text.ts';
import type { NodeConnection, OnConnection } from './connection.ts';
import { NodeEventOutlet } from './event-outlet.ts';

/** What all requests of one handler share. */
export interface NodeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  /** See HttpOptions. */
  readonly writeTimeoutMs: number;
  readonly bodyDeadlines: BodyDeadlines;
  readonly bodyTimeoutMs: number;
  readonly eventStreams: EventStreamOptions;
  readonly turns: ReplyTurns;
}

/** About how many bytes the head of a reply takes. */
const headBytes = 256;

/** One request on node:http, from its handler to its last byte. */
export class NodeExchange
  implements OnConnection, WaitingReply, ArrivingBody, BodySink, TurnSender
{
  readonly #context: NodeContext;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #connection: NodeConnection;
  readonly #cors: CorsLines;
  /** true: a reply was given to node:http. */
  #replied = false;
  /** Bytes of that reply that exist for this client alone. */
  bytes = 0;
  dueAt = 0;
  /** The memory of the body. Released with the reply, or when the client goes before the body was handed over. */
  #body: RequestBody | ChunkedBody | undefined;
  /** The body was handed over to the service. */
  #isHandled = false;
  /** Bytes of the reply and its head that count as unread. */
  #unread = 0;
  #over = false;
  #scope: RequestScope | undefined;
  /** Reads the stream of the request, where its client takes events; undefined: it does not. */
  #events: EventStream | undefined;
  #writeTimer: NodeJS.Timeout | undefined;
  /**
   * The span of the request, where requests are traced. The handler sets it before anything else is done with the
   * request.
   */
  span: HttpSpan | undefined = undefined;
  /** Answers the body. The handler sets another one than the service before anything is answered. */
  handler: BodyHandler;

  constructor(
    context: NodeContext,
    connection: NodeConnection,
    req: IncomingMessage,
    res: ServerResponse,
    cors: CorsLines,
  ) {
    this.#context = context;
    this.handler = context.service;
    this.#connection = connection;
    this.#req = req;
    this.#res = res;
    this.#cors = cors;
    context.inFlight.enter();
    connection.add(this);
    // 'close' comes after the last byte was handed to the system, or when the client has gone.
    res.on('close', () => this.disconnected());
  }

  disconnected(): void {
    if (this.#over) return;
    this.#over = true;
    this.span?.left();
    clearTimeout(this.#writeTimer);
    this.#events?.leave();
    this.#context.bodyDeadlines.delete(this);
    if (!this.#isHandled) this.#body?.release();
    this.#context.service.replyMemory.delete(this);
    this.#connection.delete(this, this.#unread);
    this.#context.inFlight.leave();
    if (!this.#res.writableFinished) this.#scope?.cancel();
  }

  /**
   * Nobody knows how much of a reply the client has taken. Of two waiting replies, the older counts as the slower.
   */
  get pace(): number {
    return 0;
  }

  cut(): void {
    this.#connection.cut();
  }

  /** The client takes events: a stream of the request that `scope` belongs to is written to it as it comes. */
  takeEvents(scope: RequestScope): void {
    scope.streams = this.#events = new EventStream(this.#context.eventStreams);
  }

  /**
   * Reads the body and answers the request.
   *
   * @param length bytes that the head announces
   */
  call(body: RequestBody, length: number, scope: RequestScope): void {
    this.#scope = scope;
    this.#body = body;
    const { bodyDeadlines, bodyTimeoutMs } = this.#context;
    this.dueAt = scope.receivedAt + bodyDeadlineMs(length, bodyTimeoutMs);
    bodyDeadlines.add(this);
    let bytes: Uint8Array | undefined;
    this.#req.on('data', (chunk: Buffer) => {
      if (!this.#over && !this.#replied) bytes = body.add(chunk);
    });
    this.#req.on('end', () => {
      if (!this.#over && !this.#replied) this.#handle(bytes ?? new Uint8Array(0), scope);
    });
  }

  /** Reads a body that comes in chunks and answers the request. */
  callChunked(body: ChunkedBody, scope: RequestScope): void {
    this.#scope = scope;
    this.#body = body;
    const { bodyDeadlines, bodyTimeoutMs } = this.#context;
    const { receivedAt } = scope;
    this.dueAt = receivedAt + bodyDeadlineMs(0, bodyTimeoutMs);
    bodyDeadlines.add(this);
    this.#req.on('data', (chunk: Buffer) => {
      if (this.#over || this.#replied) return;
      const cut = body.add(chunk);
      this.dueAt = receivedAt + bodyDeadlineMs(body.length, bodyTimeoutMs);
      if (cut !== undefined) this.#refuse(cut);
    });
    this.#req.on('end', () => {
      if (this.#over || this.#replied) return;
      const whole = body.end();
      if (!(whole instanceof Uint8Array)) {
        this.#refuse(whole);
        return;
      }
      scope.body = body.lease;
      this.#handle(whole, scope);
    });
  }

  #refuse(answer: Answer): void {
    this.#context.bodyDeadlines.delete(this);
    this.answer(answer);
    this.#scope?.cancel();
  }

  onLate(): void {
    if (this.#over || this.#replied) return;
    this.answer(lateBody);
    this.#body?.release();
    this.#scope?.cancel();
  }

  /** Answers a request whose body was read before this handler got it: as bytes, or as text. */
  callRead(bytes: string | Uint8Array, body: RequestBody, scope: RequestScope): void {
    this.#scope = scope;
    this.#body = body;
    this.#handle(bytes, scope);
  }

  /** Writes a reply that is no JSON-RPC reply and may have to be waited for. */
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

  /** Writes a reply that is no JSON-RPC reply. */
  answer(answer: Answer): void {
    const { status, headers, body, close } = this.handler.reword?.(answer) ?? answer;
    this.#write(status, headers, body, close, typeof body !== 'string');
  }

  #handle(bytes: string | Uint8Array, scope: RequestScope): void {
    this.#isHandled = true;
    this.#context.bodyDeadlines.delete(this);
    const onFault = (error: unknown): void => {
      this.#body?.release();
      this.#fail(error);
    };
    let reply: BodyAnswer | Promise<BodyAnswer> | GoesToSink;
    try {
      reply = this.handler.handle(bytes, scope, this);
    } catch (error) {
      onFault(error);
      return;
    }
    if (reply instanceof Promise) reply.then((settled) => this.#sendInTurn(settled), onFault);
    else if (reply !== goesToSink) this.#sendInTurn(reply);
  }

  /** Sends a reply that is there at once: now, or with the others of its turn. */
  #sendInTurn(reply: BodyAnswer): void {
    const isText = typeof reply === 'string' && this.#events?.isOpen !== true;
    if (!isText || !this.#context.turns.keeps(reply, this)) this.onReply(reply);
  }

  sendKept(reply: string): void {
    this.onReply(reply);
  }

  onReply(reply: BodyAnswer): void {
    this.#body?.release();
    try {
      this.#send(reply);
    } catch (error) {
      this.#context.warn(`a reply could not be written: ${String(error)}`);
    }
  }

  #send(reply: BodyAnswer): void {
    if (isAnswer(reply)) {
      this.answer(reply);
      return;
    }
    const limit = rateLimitLines(this.#scope?.rateNotice);
    if (this.#events?.isOpen === true) {
      this.#sendEvents(this.#events, [...eventStreamLines, ...this.#cors.lines, ...limit]);
      return;
    }
    if (reply === undefined) this.#write(204, limit, undefined, false, false);
    else this.#write(200, ['content-type', 'application/json', ...limit], reply, false, false);
  }

  /** Answers by events. The span ends with the last of them. */
  #sendEvents(events: EventStream, lines: readonly string[]): void {
    if (this.#over) return;
    this.#replied = true;
    this.#res.once('finish', () => this.span?.answered(200));
    events.start(new NodeEventOutlet(this.#res, events, lines, () => this.#connection.cut()));
  }

  /** Writes the reply. No other method writes one, beside that of events. */
  #write(
    status: number,
    headers: readonly string[],
    body: string | Uint8Array | undefined,
    close: boolean,
    isShared: boolean,
  ): void {
    if (this.#replied || this.#over) return;
    this.#replied = true;
    this.span?.answered(status);
    this.#connection.refused ||= close;
    const lines = [...headers, ...this.#cors.lines];
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    if (body !== undefined) lines.push('content-length', String(bytes));
    const draining = this.#context.inFlight.draining && this.#connection.isLast(this);
    if (close || draining) lines.push('connection', 'close');
    this.#unread = bytes + headBytes;
    this.#connection.addUnread(this.#unread);
    this.#res.writeHead(status, lines);
    if (body === undefined || this.#req.method === 'HEAD') this.#res.end();
    else this.#res.end(body);
    // Mostly the system has taken all of it. A Set through which every reply passed would keep many alive until the next full
    // garbage collection: its outgrown tables lead to its newer ones.
    if (bytes > 0 && !isShared && this.#res.writableLength > 0) {
      this.bytes = bytes;
      this.#context.service.replyMemory.add(this);
    }
    if (bytes > largeBody) {
      // Without this deadline, a client that does not read would keep the whole reply in memory.
      this.#writeTimer = setTimeout(
        () => this.#connection.cut(),
        writeDeadlineMs(bytes, this.#context.writeTimeoutMs),
      );
    }
  }

  /** See {@link serviceFailed}. */
  #fail(error: unknown): void {
    this.#context.warn(`service failed under a request: ${String(error)}`);
    this.answer(serviceFailed);
  }
}
