import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { Authenticator, AuthRequest } from '../dispatch/authenticate.ts';
import { RequestScope, type ScopeFacts } from '../dispatch/scope.ts';
import type { Service } from '../dispatch/service.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import { type Answer, failure } from './answer.ts';
import { Body, isSmall, ownCopy } from './body.ts';
import type { CorsLines } from './cors.ts';
import { addressText } from './http-server.ts';
import type { InFlight } from './in-flight.ts';
import { corkBytes, smallReply, writeDeadlineMs } from './limits.ts';
import type { RequestHead } from './request-head.ts';

/** What every request of one server shares. */
export interface ExchangeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  /** See HttpOptions. */
  readonly writeTimeoutMs: number;
}

const closeLines = ['connection', 'close'];

/**
 * What a reply that closes its connection is padded to, with spaces, which JSON does not mind. A corked
 * reply is written when the parser's turn is over, and by then the bytes behind a request whose end is in
 * doubt would have run as the next request, which also takes back the mark to close. An overfull cork is
 * written and closed at once, in the handler, where the parser then stops.
 */
const overfull = corkBytes + 1;

/**
 * One request on uWebSockets.js, from its handler to its last byte. `#done` is the one flag that says
 * whether `res` may still be touched: it may not after its end or its abort.
 */
export class UwsExchange implements ScopeFacts {
  readonly #context: ExchangeContext;
  readonly #res: HttpResponse;
  #done = false;
  /**
   * The client asked for its connection to be closed, which uWebSockets.js does with the reply's last
   * byte. In the parser's turn it would then run what was sent behind the request on the closed socket:
   * a handler whose body never comes and whose abort is never told.
   */
  #closes = false;
  #cors: CorsLines | undefined;
  #scope: RequestScope | undefined;
  #body: Body | undefined;
  #writeTimer: NodeJS.Timeout | undefined;
  #remoteAddress: string | undefined;
  headers: ScopeFacts['headers'];
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;

  /** To be made first in a handler: one that returns or throws before `onAborted` aborts the process. */
  constructor(context: ExchangeContext, res: HttpResponse) {
    res.onAborted(() => this.#abort());
    this.#context = context;
    this.#res = res;
    context.inFlight.enter();
  }

  /** Read when it is asked for: a system call and an ArrayBuffer, 2 us, a quarter of a small request. */
  get remoteAddress(): string | undefined {
    if (this.#remoteAddress === undefined && !this.#done) {
      const text = Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
      this.#remoteAddress = addressText(text);
    }
    return this.#remoteAddress;
  }

  /** Reads the body and answers it. To be called in the handler: what arrives later is lost otherwise. */
  call(head: RequestHead, cors: CorsLines): void {
    const { contentLength } = head;
    this.headers = head.forwarded;
    this.timeoutMs = head.timeoutMs;
    this.traceparent = head.traceparent;
    this.tracestate = head.tracestate;
    this.#cors = cors;
    this.#closes = head.closes;
    const scope = new RequestScope(this);
    this.#scope = scope;
    this.#res.onData((chunk, last) => {
      if (this.#done) return;
      if (this.#body === undefined) {
        if (last) {
          // A view, valid until this callback returns: handle reads a small body before it does. A large
          // one may be transferred, so it gets its own memory.
          const view = new Uint8Array(chunk);
          this.#handle(isSmall(view.byteLength) ? view : ownCopy(view), scope);
          return;
        }
        this.#body = new Body(contentLength);
      }
      const complete = this.#body.add(new Uint8Array(chunk));
      if (last && complete) this.#handle(this.#body.take(), scope);
    });
  }

  /** Asks who calls, while the body arrives. After `call`. */
  askFor(authenticate: Authenticator, request: AuthRequest): void {
    if (this.#scope !== undefined) this.#scope.verdict = authenticate(request);
  }

  /** Writes what is no JSON-RPC reply and may have to be waited for. */
  answerOnce(
    make: (scope: RequestScope) => Answer | Promise<Answer>,
    cors: CorsLines,
    headOnly: boolean,
  ): void {
    this.#scope = new RequestScope(this);
    const answer = make(this.#scope);
    if (!(answer instanceof Promise)) {
      this.answer(answer, cors, headOnly);
      return;
    }
    const write = (settled: Answer): void => {
      if (!this.#done) this.#res.cork(() => this.answer(settled, cors, headOnly));
    };
    answer.then(write, (error: unknown) => {
      this.#context.warn(`service failed under a request: ${String(error)}`);
      write(failure('the service failed'));
    });
  }

  /** Writes what is no JSON-RPC reply, in the handler or in a cork. */
  answer(answer: Answer, cors: CorsLines, headOnly: boolean): void {
    const res = this.#res;
    const { status, headers, body, close } = answer;
    this.#finish();
    res.writeStatus(`${status} ${STATUS_CODES[status]}`);
    writeLines(res, headers);
    writeLines(res, cors.lines);
    if (this.#context.inFlight.draining && !close) writeLines(res, closeLines);
    if (body === undefined) res.endWithoutBody();
    // A reply that closes keeps its body even for HEAD: nothing is read behind it.
    else if (close) res.end(body.padEnd(overfull), true);
    else if (headOnly) endHead(res, Buffer.byteLength(body));
    else res.end(body);
  }

  #handle(body: Uint8Array, scope: RequestScope): void {
    let reply: Reply | Promise<Reply>;
    try {
      reply = this.#context.service.handle(body, scope);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#closes) this.#await(afterTurn(reply));
    else if (reply instanceof Promise) this.#await(reply);
    else this.#send(reply, true);
  }

  #await(reply: Promise<Reply>): void {
    // A promise kept at once is answered in the parser's turn still. That matters to a drain only, and a
    // call that began before the drain is past its first turn.
    let inTurn = this.#context.inFlight.draining;
    if (inTurn) {
      setImmediate(() => {
        inTurn = false;
      });
    }
    reply.then(
      (settled) => {
        if (!this.#done) this.#res.cork(() => this.#send(settled, inTurn));
      },
      (error: unknown) => {
        if (!this.#done) this.#res.cork(() => this.#fail(error));
      },
    );
  }

  /**
   * The one place a reply is written. The socket is corked.
   *
   * @param inTurn in the turn of the parser that read the body: there a connection must not be closed
   */
  #send(reply: Reply, inTurn: boolean): void {
    if (this.#done || this.#cors === undefined) return;
    const res = this.#res;
    const { draining } = this.#context.inFlight;
    const { lines, jsonName, jsonValue } = this.#cors;
    if (reply === undefined) {
      this.#finish();
      res.writeStatus('204 No Content');
      writeLines(res, lines);
      if (draining) writeLines(res, closeLines);
      res.endWithoutBody();
    } else if (typeof reply !== 'string' || reply.length > smallReply) {
      this.#sendTracked(typeof reply === 'string' ? Buffer.from(reply) : reply, this.#cors);
    } else {
      this.#finish();
      res.writeHeader(jsonName, jsonValue);
      if (!draining) {
        res.end(reply);
      } else if (inTurn) {
        writeLines(res, closeLines);
        res.end(reply);
      } else {
        // Cut off even those who go on after "connection: close", or a drain under load never ends.
        res.end(reply, true);
      }
    }
  }

  /**
   * Writes as much as the client takes and keeps the rest here, where a drain waits for it, and without
   * the copies that `end` would make of it; a client that does not read is cut at its deadline.
   */
  #sendTracked(bytes: Uint8Array, cors: CorsLines): void {
    const res = this.#res;
    const total = bytes.byteLength;
    res.writeHeader(cors.jsonName, cors.jsonValue);
    if (this.#context.inFlight.draining) writeLines(res, closeLines);
    const start = res.getWriteOffset();
    const [, over] = res.tryEnd(bytes, total);
    if (over) {
      this.#finish();
      return;
    }
    this.#writeTimer = setTimeout(
      () => res.close(),
      writeDeadlineMs(total, this.#context.writeTimeoutMs),
    );
    res.onWritable((offset) => {
      if (this.#done) return true;
      const [written, ended] = res.tryEnd(bytes.subarray(offset - start), total);
      if (ended) this.#finish();
      return written;
    });
  }

  /** The service broke its word: it never throws and never rejects. */
  #fail(error: unknown): void {
    this.#context.warn(`service failed under a request: ${String(error)}`);
    if (this.#done || this.#cors === undefined) return;
    this.answer(failure('the service failed'), this.#cors, false);
  }

  #finish(): void {
    this.#done = true;
    if (this.#writeTimer !== undefined) clearTimeout(this.#writeTimer);
    this.#context.inFlight.leave();
  }

  #abort(): void {
    if (this.#done) return;
    this.#finish();
    this.#scope?.cancel();
  }
}

function writeLines(res: HttpResponse, lines: readonly string[]): void {
  for (let i = 0; i < lines.length; i += 2) res.writeHeader(lines[i] ?? '', lines[i + 1] ?? '');
}

/** Given a length itself, endWithoutBody takes the reply for unfinished and closes at the next request. */
function endHead(res: HttpResponse, bytes: number): void {
  res.writeHeader('content-length', String(bytes));
  res.endWithoutBody();
}

/** Settles after the parser's turn, and after all that is read in this one. */
async function afterTurn(reply: Reply | Promise<Reply>): Promise<Reply> {
  const settled = await reply;
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
