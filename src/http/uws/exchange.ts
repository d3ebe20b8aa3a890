import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope, type ScopeFacts } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import { type Answer, failure, lateBody, outOfMemory } from '../edge/answer.ts';
import type { AuthRequest, HttpAuthenticator } from '../edge/auth-request.ts';
import type { ArrivingBody, BodyDeadlines } from '../edge/body-deadlines.ts';
import type { CorsLines } from '../edge/cors.ts';
import { addressText } from '../edge/http-server.ts';
import type { InFlight } from '../edge/in-flight.ts';
import { bodyDeadlineMs, corkBytes, probeShare, smallReply } from '../edge/limits.ts';
import type { Peers, ProxyHeaders } from '../edge/peer.ts';
import { rateLimitLines } from '../edge/rate-limit-lines.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { HttpSpan } from '../edge/span.ts';
import { closeLines, endHead, writeLines } from './head-lines.ts';
import { type BodilessReplies, type UwsReplies, UwsReply } from './reply.ts';

/** What every request of one server shares. */
export interface ExchangeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  readonly replies: UwsReplies;
  readonly bodiless: BodilessReplies;
  /** Undefined: no proxy is trusted. */
  readonly peers: Peers | undefined;
  readonly bodyDeadlines: BodyDeadlines;
  readonly bodyTimeoutMs: number;
}

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
export class UwsExchange implements ScopeFacts, ArrivingBody {
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
  /** Until it is handed over: from there on who waits for the reply releases it. */
  #body: RequestBody | undefined;
  #waiting: UwsReply | undefined;
  /** Set by the server where requests are traced, before anything else is done with the request. */
  span: HttpSpan | undefined = undefined;
  /** Of the connection, once it was asked for. */
  #address: string | undefined;
  /** Of the caller, where a proxy may stand in between: 6 us to find out. */
  #caller: string | undefined;
  dueAt = 0;
  /** What proxies say of the caller; set by the server where some are trusted, before anything asks for an address. */
  proxyHeaders: ProxyHeaders | undefined;
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

  get remoteAddress(): string | undefined {
    const { peers } = this.#context;
    if (peers === undefined || this.proxyHeaders === undefined) return this.#connectedFrom;
    this.#caller ??= peers.addressOf(this.#connectedFrom, this.proxyHeaders);
    return this.#caller;
  }

  get callerHeader(): string | undefined {
    return this.proxyHeaders?.caller === undefined
      ? undefined
      : this.#context.peers?.callerHeader(this.#connectedFrom, this.proxyHeaders);
  }

  /** Read when it is asked for: a system call and an ArrayBuffer, 2 us, a quarter of a small request. */
  get #connectedFrom(): string | undefined {
    if (this.#address === undefined && !this.#done) {
      const text = Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
      this.#address = addressText(text);
    }
    return this.#address;
  }

  /**
   * Reads the body and answers it. To be called in the handler: what arrives later is lost otherwise.
   *
   * @returns false: there is no memory for it, which is answered
   */
  call(head: RequestHead, cors: CorsLines): boolean {
    const body = RequestBody.reserve(this.#context.service.bodyMemory, head.contentLength);
    if (body === undefined) {
      this.answer(outOfMemory, cors, false);
      return false;
    }
    this.#body = body;
    this.headers = head.forwarded;
    this.timeoutMs = head.timeoutMs;
    this.traceparent = head.traceparent;
    this.tracestate = head.tracestate;
    this.#cors = cors;
    this.#closes = head.closes;
    const scope = new RequestScope(this);
    scope.body = body.lease;
    if (this.span !== undefined) scope.trace = this.span.calls;
    this.#scope = scope;
    const { bodyDeadlines, bodyTimeoutMs } = this.#context;
    this.dueAt = scope.receivedAt + bodyDeadlineMs(head.contentLength, bodyTimeoutMs);
    bodyDeadlines.add(this);
    this.#res.onData((chunk, last) => {
      if (this.#done) return;
      // It may be a view, valid until this callback returns: handle reads a small body before it does.
      const bytes = body.add(new Uint8Array(chunk));
      if (last && bytes !== undefined) this.#handle(bytes, body, scope);
    });
    return true;
  }

  onLate(): void {
    const cors = this.#cors;
    if (this.#done || cors === undefined) return;
    this.#res.cork(() => this.answer(lateBody, cors, false));
    this.#body?.release();
    this.#scope?.cancel();
  }

  /** Asks who calls, while the body arrives. After `call`. */
  askFor(authenticate: HttpAuthenticator, request: AuthRequest): void {
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
    this.span?.answered(status);
    res.writeStatus(`${status} ${STATUS_CODES[status]}`);
    writeLines(res, headers);
    writeLines(res, cors.lines);
    if (this.#context.inFlight.draining && !close) writeLines(res, closeLines);
    if (body !== undefined && close) {
      // It keeps its body even for HEAD: nothing is read behind it.
      this.#finish();
      res.end(body.toString().padEnd(overfull), true);
    } else if (body === undefined || headOnly) {
      this.#endBodiless(() => {
        if (body === undefined) res.endWithoutBody();
        else endHead(res, Buffer.byteLength(body));
      });
    } else {
      this.#write(body, typeof body !== 'string');
    }
  }

  #handle(bytes: Uint8Array, body: RequestBody, scope: RequestScope): void {
    this.#body = undefined;
    this.#context.bodyDeadlines.delete(this);
    let reply: Reply | Promise<Reply>;
    try {
      reply = this.#context.service.handle(bytes, scope);
    } catch (error) {
      body.release();
      this.#fail(error);
      return;
    }
    if (this.#closes) this.#await(afterTurn(reply), body);
    else if (reply instanceof Promise) this.#await(reply, body);
    else {
      body.release();
      this.#send(reply, true);
    }
  }

  #await(reply: Promise<Reply>, body: RequestBody): void {
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
        body.release();
        if (!this.#done) this.#res.cork(() => this.#send(settled, inTurn));
      },
      (error: unknown) => {
        body.release();
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
    this.span?.answered(reply === undefined ? 204 : 200);
    const { draining } = this.#context.inFlight;
    const { lines, jsonName, jsonValue } = this.#cors;
    const rateNotice = this.#scope?.rateNotice;
    if (reply === undefined) {
      res.writeStatus('204 No Content');
      writeLines(res, lines);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      if (draining) writeLines(res, closeLines);
      this.#endBodiless(() => res.endWithoutBody());
    } else {
      res.writeHeader(jsonName, jsonValue);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      if (draining && !inTurn && typeof reply === 'string' && reply.length <= smallReply) {
        // Cut off even those who go on after "connection: close", or a drain under load never ends.
        this.#finish();
        res.end(reply, true);
        return;
      }
      if (draining) writeLines(res, closeLines);
      this.#write(reply, false);
    }
  }

  /**
   * Writes a body behind its head: as much as the system takes. The rest is kept as it is, without the copies
   * that `end` makes of it for each client, and a request that its client has sent behind it finds the reply
   * unfinished, for which uWebSockets.js closes the connection: who does not read what was answered is not
   * answered more.
   *
   * What fits the cork is left to `end` as a rule, which is cheaper and does not look whether the client reads.
   * One in sixteen looks, by chance, so that nobody can tell which: then a connection holds some of them only.
   */
  #write(body: string | Uint8Array, isShared: boolean): void {
    const res = this.#res;
    if (typeof body === 'string' && body.length <= smallReply && Math.random() > probeShare) {
      this.#finish();
      res.end(body);
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const [, isWhole] = res.tryEnd(bytes, bytes.byteLength);
    if (isWhole) {
      this.#finish();
      return;
    }
    const taken = res.getWriteOffset();
    const onEnd = () => this.#finish();
    this.#waiting = new UwsReply(this.#context.replies, res, bytes, taken, isShared, onEnd);
  }

  /** Ends what has no body: of this nobody tells whether the client reads, so that only few go out in one turn. */
  #endBodiless(end: () => void): void {
    if (this.#context.bodiless.mayEnd()) {
      this.#finish();
      end();
      return;
    }
    setImmediate(() => {
      if (this.#done) return;
      this.#res.cork(() => {
        this.#finish();
        end();
      });
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
    this.#context.inFlight.leave();
  }

  #abort(): void {
    if (this.#done) return;
    this.#finish();
    this.span?.left();
    this.#waiting?.leave();
    this.#context.bodyDeadlines.delete(this);
    this.#body?.release();
    this.#scope?.cancel();
  }
}

/** Settles after the parser's turn, and after all that is read in this one. */
async function afterTurn(reply: Reply | Promise<Reply>): Promise<Reply> {
  const settled = await reply;
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
