import type { Verdict } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { type Cors, createCors, noCors } from './answer.ts';
import { admitted, authRequest } from './auth.ts';
import { Exchange, type ExchangeContext, type Responder } from './exchange.ts';
import type { Facade, HttpOptions } from './http-options.ts';
import type { InFlight, Scheme } from './http-server.ts';
import { createPeers } from './peer.ts';
import type { ReplyTurns } from './reply-turns.ts';
import { BodyDeadlines } from './request-bodies.ts';
import { Checks } from './request-checks.ts';
import { RequestHead } from './request-head.ts';
import { isConsole, isHealth, type Question, Routes, type Target } from './routes.ts';
import { HttpSpan } from './span.ts';

/** Asks the code of a framework who calls, in place of `options.authenticate`. */
export type AskWho = () => Verdict | Promise<Verdict>;

/** What both servers do with a request whose head they have read into `head`. */
export class RequestHandler {
  readonly context: ExchangeContext;
  /** One head for all requests: each request fills and reads it before its handler returns. */
  readonly head: RequestHead;
  readonly routes: Routes;
  readonly #service: Service;
  readonly #options: HttpOptions;
  readonly #cors: Cors;
  readonly #mcp: Facade | undefined;

  constructor(service: Service, options: HttpOptions, inFlight: InFlight, turns: ReplyTurns) {
    const { warn, bodyTimeoutMs, maxBodyBytes, streamPingMs, writeTimeoutMs } = options;
    this.#service = service;
    this.#options = options;
    this.head = new RequestHead(options);
    this.routes = new Routes(service, options);
    this.#cors = createCors(options);
    this.#mcp = options.mcp?.facade;
    this.context = {
      service,
      inFlight,
      warn,
      checks: new Checks(options),
      peers: createPeers(options),
      bodyDeadlines: new BodyDeadlines(),
      bodyTimeoutMs,
      maxBodyBytes,
      eventStreams: { streamPingMs, writeTimeoutMs, replyMemory: service.replyMemory },
      turns,
    };
  }

  /** @param path as the client asked for it, without the query */
  begin(
    response: Responder,
    target: Target,
    method: string,
    path: string,
    scheme: Scheme,
  ): Exchange {
    const { head } = this;
    const cors = isConsole(target) ? noCors : this.#cors(head.origin);
    const exchange = new Exchange(this.context, response, head, cors);
    exchange.isHead = method === 'HEAD';
    const { tracing } = this.#service;
    if (tracing === undefined || (target !== 'rpc' && target !== 'mcp')) return exchange;
    const { remoteAddress } = exchange.facts;
    const { traceparent, tracestate } = head;
    // Undefined for any other path: a framework's router may have chosen this handler by a pattern.
    const route =
      path === this.#options.path || path === this.#options.mcp?.path ? path : undefined;
    const request = { method, path, route, scheme, remoteAddress, traceparent, tracestate };
    exchange.span = new HttpSpan(tracing, request);
    return exchange;
  }

  /**
   * A POST on a path that takes calls.
   *
   * @param isLocal whether only this machine can reach the server
   * @returns whether the body is read; otherwise the request is answered
   */
  call(
    exchange: Exchange,
    target: 'rpc' | 'mcp',
    path: string,
    isLocal: boolean,
    askWho?: AskWho,
  ): boolean {
    const { head } = this;
    const mcp = target === 'mcp' ? this.#mcp : undefined;
    if (mcp !== undefined) exchange.handler = mcp.handler(head);
    const refused = this.context.checks.call(head) ?? mcp?.refusal(head, isLocal);
    if (refused !== undefined) {
      exchange.answer(refused);
      return false;
    }
    if (!exchange.call(head)) return false;
    // After the line above: a body that arrives before it has its listener would be lost.
    const verdict = this.#ask(exchange, 'POST', path, askWho);
    if (verdict !== undefined && exchange.scope !== undefined) exchange.scope.verdict = verdict;
    return true;
  }

  /** Any other request. */
  answer(
    exchange: Exchange,
    target: Target,
    question: Question,
    isLocal: boolean,
    askWho?: AskWho,
  ): void {
    const { head, routes } = this;
    const { checks } = this.context;
    const mcp = target === 'mcp' ? this.#mcp : undefined;
    const refused =
      checks.framing(head) ??
      (isHealth(target) ? undefined : checks.host(head)) ??
      routes.hostRefusal(target, head.host) ??
      mcp?.refusal(head, isLocal);
    if (refused !== undefined) {
      exchange.answer(refused);
      return;
    }
    const { method, path } = question;
    const answer = () => mcp?.answer(method) ?? routes.answer(target, question);
    const verdict = routes.asksWho(target, method)
      ? this.#ask(exchange, method, path, askWho)
      : undefined;
    if (verdict === undefined) exchange.answerOnce(answer);
    else exchange.answerOnce((scope) => admitted(this.#service, scope, verdict, answer));
  }

  #ask(
    { facts }: Exchange,
    method: string,
    path: string,
    askWho: AskWho | undefined,
  ): Verdict | Promise<Verdict> | undefined {
    if (askWho !== undefined) return askWho();
    const { authenticate } = this.#options;
    return authenticate?.(
      authRequest(this.head.all, facts.remoteAddress, method, path),
      facts.showsFaults,
    );
  }
}
