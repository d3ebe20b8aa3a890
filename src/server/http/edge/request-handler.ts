import { openApiPath } from '../../../core/config/config.ts';
import type { Verdict } from '../../../core/dispatch/authenticate.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Document, DocumentFormat, Service } from '../../../core/dispatch/service.ts';
import { cappedReply, type Outcome } from '../../../core/protocol/reply.ts';
import {
  type Answer,
  anyCors,
  bodyless,
  type Cors,
  type CorsLines,
  createCors,
  jsonAnswer,
  matchesEtag,
  noCors,
  preflightHeaders,
  rejection,
  statusOfService,
  textAnswer,
} from './answer.ts';
import {
  BodyDeadlines,
  Exchange,
  type ExchangeContext,
  InFlight,
  type Responder,
} from './exchange.ts';
import type { Facade, HttpOptions } from './http-options.ts';
import type { Scheme } from './http-server.ts';
import { createPeers } from './peer.ts';
import type { ReplyTurns } from './reply-turns.ts';
import { authorityOf, Checks, isForeign } from './request-checks.ts';
import { RequestHead } from './request-head.ts';
import { HttpSpan } from './span.ts';

/** What a path stands for. A facade has a target of its own. */
export type Target =
  | 'rpc'
  | 'mcp'
  | 'api'
  | 'openapi'
  | 'metadata'
  | 'healthz'
  | 'readyz'
  | 'metrics'
  | 'root'
  | 'console'
  | 'figures'
  | 'example'
  | 'profile'
  | 'none';

/** The first line of a request, and what is known of its connection. */
export interface Asked {
  readonly target: Target;
  /** In capitals. */
  readonly method: string;
  /** As the client asked for it, without the query. */
  readonly path: string;
  /** What stands behind `httpPath` and its slash, as it was sent; undefined: the path is not below it. */
  readonly name?: string | undefined;
  /** Without its question mark. */
  readonly query: string;
  readonly scheme: Scheme;
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
  /** Read for pages of the console only. */
  readonly acceptEncoding?: string | undefined;
}

/** Asks the code of a framework who calls, instead of `options.authenticate`. */
export type AskWho = () => Verdict | Promise<Verdict>;

/** Whether the console is asked for, whose answers no page of another origin may read. */
export function isConsole(target: Target): boolean {
  return (
    target === 'console' || target === 'figures' || target === 'example' || target === 'profile'
  );
}

/** Whether procedures are called there. */
export function takesCalls(target: Target): boolean {
  return target === 'rpc' || target === 'mcp' || target === 'api';
}

/** The content type of Prometheus's text format. */
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';
const consoleFolder = '/console/';
const noStore = ['cache-control', 'no-store'];
const readOnly = { headers: ['allow', 'GET, HEAD'] };
const getOnly = rejection(405, 'use GET', readOnly);
const postOnly = rejection(405, 'use POST', { headers: ['allow', 'POST'] });
const noActions = rejection(
  403,
  'the console takes profiles on a loopback address outside production; elsewhere tandem profile does',
);
const otherOrigin = rejection(403, 'only the page of this console may ask for a profile');
const notReady = rejection(503, 'the service is starting or stopping, try again');
const unknownFormat = rejection(
  400,
  'format must be openrpc, or openapi where httpPath is set; leave it out for the introspection document',
);
const notLocal = rejection(
  403,
  'the console answers names of this machine, such as localhost; list others in allowedHosts',
);

/** What both servers do with a request whose head they have read into `head`: the routes, and who may call them. */
export class RequestHandler {
  readonly context: ExchangeContext;
  /** One head for all requests: each request fills and reads it before its handler returns. */
  readonly head: RequestHead;
  readonly #cors: Cors;
  /** For pages whose origin is not in the list; undefined: there is no list. */
  readonly #foreignLines: CorsLines | undefined;
  readonly #preflight: Answer;
  readonly #notFound: Answer;
  readonly #notAllowed: Answer;
  /** A client whose URL lacks the path comes here, if the root leads to the console. */
  readonly #onlyPages: Answer;

  constructor(service: Service, options: HttpOptions, turns: ReplyTurns) {
    const { path, introspection, serves, streamPingMs, bodyTimeoutMs } = options;
    const { replyMemory } = service;
    this.context = {
      service,
      options,
      inFlight: new InFlight(),
      checks: new Checks(options),
      peers: createPeers(options),
      bodyDeadlines: new BodyDeadlines(),
      eventStreams: { streamPingMs, bodyTimeoutMs, replyMemory },
      turns,
    };
    this.head = new RequestHead(options);
    this.#cors = createCors(options);
    this.#foreignLines = options.corsOrigin === '*' ? undefined : this.#cors(undefined);
    this.#preflight = bodyless(204, preflightHeaders(options.corsHeaders));
    const instead = serves === 'operations' ? 'calls have another port' : `call ${path}`;
    this.#notFound = rejection(404, `nothing is served here, ${instead}`);
    const allow = introspection ? 'POST, GET, HEAD, OPTIONS' : 'POST, OPTIONS';
    this.#notAllowed = rejection(405, `use POST on ${path}`, { headers: ['allow', allow] });
    this.#onlyPages = rejection(405, `only pages are here, ${instead}`, readOnly);
  }

  /** @param url the path, without the query */
  targetOf(url: string): Target {
    const options = this.context.options;
    const { path, mcp, api, serves, introspection, console: site } = options;
    if (url === path && serves !== 'operations') return 'rpc';
    if (mcp !== undefined && serves !== 'operations') {
      if (url === mcp.path) return 'mcp';
      if (mcp.metadata?.paths.has(url) === true) return 'metadata';
    }
    if (api !== undefined && serves !== 'operations') {
      if (this.nameIn(url) !== undefined) return 'api';
      if (url === openApiPath && introspection) return 'openapi';
    }
    if (site !== undefined) {
      if (url === '/') return 'root';
      if (url === '/console' || url.startsWith(consoleFolder)) {
        const isFigures = url === `${consoleFolder}figures` && serves !== 'calls';
        if (isFigures && site.figures !== undefined) return 'figures';
        const isExample = url === `${consoleFolder}example` && serves !== 'operations';
        if (isExample && introspection) return 'example';
        // Never on a port for metrics alone: who may read metrics may not order profiles.
        return url === `${consoleFolder}profile` && serves === 'all' ? 'profile' : 'console';
      }
    }
    if (serves === 'calls') return 'none';
    if (this.context.service.metrics !== undefined && url === '/metrics') return 'metrics';
    if (url === '/healthz') return 'healthz';
    if (url === '/readyz') return 'readyz';
    return 'none';
  }

  /** The name in the URL of a procedure; undefined: the URL is none. @param url the path, without the query */
  nameIn(url: string): string | undefined {
    const httpPath = this.context.options.api?.path;
    if (httpPath === undefined || !url.startsWith(httpPath)) return undefined;
    return url[httpPath.length] === '/' ? url.slice(httpPath.length + 1) : undefined;
  }

  /** What serves a target by another protocol than JSON-RPC. A facade has a target in `targetOf`, and its line here. */
  #facadeOf(target: Target): Facade | undefined {
    return target === 'mcp' ? this.context.options.mcp?.facade : undefined;
  }

  #corsOf(target: Target, head: RequestHead): CorsLines {
    if (isConsole(target)) return noCors;
    if (target === 'metadata') return anyCors;
    const lines = this.#cors(head.origin);
    if (lines === this.#foreignLines && isForeign(head)) {
      this.context.options.onForeign('origin', head.origin);
    }
    return lines;
  }

  /** Begins a request, whose answer `call`, `answer` or an upgrade gives. */
  begin(response: Responder, { target, method, path, name, scheme }: Asked): Exchange {
    const { head } = this;
    const { service, options } = this.context;
    const cors = this.#corsOf(target, head);
    const exchange = new Exchange(this.context, response, head, cors, method === 'HEAD');
    const { tracing } = service;
    if (tracing === undefined || !takesCalls(target)) return exchange;
    const { remoteAddress } = exchange.facts;
    const { traceparent, tracestate } = head;
    // Undefined for any other path: a framework's router may have chosen this handler by a pattern.
    const isRoute =
      path === options.path ||
      path === options.mcp?.path ||
      (name !== undefined && options.api?.facade.has(name) === true);
    const route = isRoute ? path : undefined;
    const request = { method, path, route, scheme, remoteAddress, traceparent, tracestate };
    exchange.span = new HttpSpan(tracing, request);
    return exchange;
  }

  /**
   * A POST on a path that takes calls.
   *
   * @returns whether the body is read; otherwise the request is answered
   */
  call(exchange: Exchange, asked: Asked, askWho?: AskWho): boolean {
    const { head } = this;
    const { checks } = this.context;
    const { target, path, isLocal } = asked;
    if (target === 'api') return this.#callUrl(exchange, asked, askWho);
    const facade = this.#facadeOf(target);
    if (facade !== undefined) exchange.handler = facade.handler(head);
    const refused = checks.call(head) ?? facade?.refusal(head, isLocal);
    if (refused !== undefined) {
      exchange.answer(refused);
      return false;
    }
    if (!exchange.call(head)) return false;
    // After the line above: a body that arrives before it has its listener would be lost.
    const verdict = this.ask(exchange, 'POST', path, askWho);
    if (verdict !== undefined && exchange.scope !== undefined) exchange.scope.verdict = verdict;
    return true;
  }

  /**
   * A request to the URL of a procedure, by any method.
   *
   * @returns whether the body is read; otherwise the request is answered, or is a call without a body
   */
  #callUrl(exchange: Exchange, asked: Asked, askWho: AskWho | undefined): boolean {
    const { head } = this;
    const { options, checks } = this.context;
    const { method, path, name = '', query, isLocal } = asked;
    const { contentType, accept, ifNoneMatch, host, origin, fetchSite, fetchMode } = head;
    const isPost = method === 'POST';
    // Without a length and without chunks a request has no body (RFC 9112, 6.3).
    if (isPost && head.contentLength === -1 && head.transferEncoding === undefined) {
      head.contentLength = 0;
    }
    // A query may be as long as headers.
    head.bytes += query.length;
    const call = options.api?.facade.begin({
      method,
      name,
      query,
      host,
      origin,
      isLocal,
      contentType,
      accept,
      ifNoneMatch,
      hasBody: head.isChunked || head.contentLength > 0,
      isCrossSiteVisit: fetchSite === 'cross-site' && fetchMode === 'navigate',
      asksWho: askWho !== undefined || options.authenticate !== undefined,
    });
    if (call !== undefined) exchange.handler = call;
    const unsound = isPost ? checks.body(head) : (checks.framing(head) ?? checks.host(head));
    const answer = unsound ?? call?.early() ?? checks.content(head);
    if (answer !== undefined) {
      exchange.answer(answer);
      return false;
    }
    if (!isPost) exchange.callWithoutBody(head);
    else if (!exchange.call(head)) return false;
    const verdict = this.ask(exchange, method, path, askWho);
    if (verdict !== undefined && exchange.scope !== undefined) exchange.scope.verdict = verdict;
    if (!isPost) exchange.run();
    return isPost;
  }

  /** Any other request. */
  answer(exchange: Exchange, asked: Asked, askWho?: AskWho): void {
    const { head } = this;
    const { service, options, checks } = this.context;
    const { target, method, path, isLocal } = asked;
    if (target === 'api') {
      this.#callUrl(exchange, asked, askWho);
      return;
    }
    // Load balancers, and scrapers of a port for operators, ask by an address that they chose themselves.
    const isByAddress =
      target === 'healthz' ||
      target === 'readyz' ||
      (target === 'metrics' && options.serves === 'operations');
    const facade = this.#facadeOf(target);
    const refused =
      checks.framing(head) ??
      (isByAddress ? undefined : checks.host(head)) ??
      (isConsole(target) && options.console?.isServed(head.host) === false
        ? notLocal
        : undefined) ??
      (target === 'profile' ? this.#actionRefusal(method) : undefined) ??
      facade?.refusal(head, isLocal);
    if (refused !== undefined) {
      exchange.answer(refused);
      return;
    }
    if (target === 'profile') {
      const verdict = this.ask(exchange, method, path, askWho);
      exchange.answerOnce((scope) => {
        const profile = () => this.#profile(asked, scope);
        return verdict === undefined ? profile() : admitted(service, scope, verdict, profile);
      });
      return;
    }
    const { ifNoneMatch } = head;
    const { api } = options;
    // The document is refused as the URLs that it describes are.
    const refusal =
      target === 'openapi' && api !== undefined
        ? ({ text }: Outcome) => api.facade.refusal(text)
        : undefined;
    const answer = () => facade?.answer(method) ?? this.#answer(asked, ifNoneMatch);
    // Asked about what says something about the procedures. A preflight has no credentials.
    const saysMuch =
      target === 'figures' ||
      target === 'example' ||
      target === 'openapi' ||
      (options.introspection && target === 'rpc');
    const isRead = method === 'GET' || method === 'HEAD';
    const verdict = saysMuch && isRead ? this.ask(exchange, method, path, askWho) : undefined;
    if (verdict === undefined) exchange.answerOnce(answer);
    else exchange.answerOnce((scope) => admitted(service, scope, verdict, answer, refusal));
  }

  /** Why the console does not act on this request; undefined: it may. */
  #actionRefusal(method: string): Answer | undefined {
    const { head } = this;
    if (this.context.options.console?.acts !== true) return noActions;
    if (method !== 'POST') return postOnly;
    return isSameOrigin(head) ? undefined : otherOrigin;
  }

  async #profile({ query }: Asked, scope: RequestScope): Promise<Answer> {
    const left = new AbortController();
    scope.addListener({ onCancelled: () => left.abort() });
    return (await this.context.options.console?.profile(query, left.signal)) ?? this.#notFound;
  }

  /** Asks who calls; undefined: everybody may. */
  ask(
    { facts }: Exchange,
    method: string,
    path: string,
    askWho: AskWho | undefined,
  ): Verdict | Promise<Verdict> | undefined {
    if (askWho !== undefined) return askWho();
    const { authenticate } = this.context.options;
    if (authenticate === undefined) return undefined;
    const headers = Object.freeze(this.head.all ?? {});
    const { remoteAddress } = facts;
    const request = Object.freeze({ headers, remoteAddress, method, path });
    return authenticate(request, facts.showsFaults);
  }

  /** Answers a request that is neither a call nor a facade's. Figures of other processes, and files, take a while. */
  #answer(asked: Asked, ifNoneMatch: string | undefined): Answer | Promise<Answer> {
    const { target, method } = asked;
    const { introspection, console: site } = this.context.options;
    const isRead = method === 'GET' || method === 'HEAD';
    switch (target) {
      case 'rpc':
        if (method === 'OPTIONS') return this.#preflight;
        return isRead && introspection ? this.#introspect(asked, ifNoneMatch) : this.#notAllowed;
      case 'root':
        return isRead ? bodyless(307, ['location', 'console/']) : this.#onlyPages;
      case 'metadata':
        return this.context.options.mcp?.metadata?.answer(method) ?? this.#notFound;
      case 'none':
      case 'mcp':
      case 'api':
      case 'profile':
        return this.#notFound;
    }
    if (!isRead) return getOnly;
    switch (target) {
      case 'metrics':
        return this.#metrics();
      case 'figures':
        return site?.figures?.() ?? this.#notFound;
      case 'example':
        return site?.example(asked.query) ?? this.#notFound;
      case 'openapi':
        return this.#openApi(ifNoneMatch);
      case 'console':
        return this.#page(asked, ifNoneMatch);
      case 'healthz':
        return jsonAnswer(200, '{"status":"ok"}', noStore);
      case 'readyz': {
        const { state } = this.context.service;
        return jsonAnswer(state === 'ready' ? 200 : 503, `{"status":"${state}"}`, noStore);
      }
    }
  }

  #introspect({ query }: Asked, ifNoneMatch: string | undefined): Answer | Promise<Answer> {
    const format = formatOf(query);
    if (format === 'openapi') return this.#openApi(ifNoneMatch);
    if (format === undefined) return unknownFormat;
    return documentAnswer(this.context.service.introspect(format), ifNoneMatch);
  }

  #openApi(ifNoneMatch: string | undefined): Answer | Promise<Answer> {
    const { api } = this.context.options;
    return api === undefined ? unknownFormat : documentAnswer(api.facade.document(), ifNoneMatch);
  }

  async #metrics(): Promise<Answer> {
    const bytes = await this.context.service.metrics?.bytes();
    return bytes === undefined ? this.#notFound : textAnswer(bytes, metricsType, noStore);
  }

  #page(
    { path, acceptEncoding }: Asked,
    ifNoneMatch: string | undefined,
  ): Answer | Promise<Answer> {
    const at = path.lastIndexOf(consoleFolder);
    // A relative target: a proxy in front, or a mount, may have put the service below a path of its own.
    if (at === -1) return bodyless(308, ['location', 'console/']);
    const name = path.slice(at + consoleFolder.length);
    const { console: site, serves } = this.context.options;
    return site?.page({ name, acceptEncoding, ifNoneMatch }, serves) ?? this.#notFound;
  }
}

/**
 * Whether no page of another origin sends the request. Browsers that know it say so in Sec-Fetch-Site, behind a proxy too; all
 * others send Origin with each POST. A client without either is no browser.
 */
function isSameOrigin({ fetchSite, origin, host }: RequestHead): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return origin === undefined || authorityOf(origin) === host?.toLowerCase();
}

/** The format that the query of a GET asks for. Other parameters are ignored, since they are not this service's. */
function formatOf(query: string): DocumentFormat | 'openapi' | undefined {
  const [format, second] = new URLSearchParams(query).getAll('format');
  if (format === undefined) return 'tandem';
  const isKnown = format === 'openrpc' || format === 'openapi';
  return isKnown && second === undefined ? format : undefined;
}

async function documentAnswer(
  made: Promise<Document> | undefined,
  ifNoneMatch: string | undefined,
): Promise<Answer> {
  if (made === undefined) return notReady;
  const document = await made;
  const etag = `"${document.version}"`;
  // no-cache: caches keep the document but ask for it each time, since a reload changes it.
  const headers = ['etag', etag, 'cache-control', 'no-cache'];
  return matchesEtag(ifNoneMatch, etag)
    ? bodyless(304, headers)
    : jsonAnswer(200, document.bytes, headers);
}

/**
 * Answers a request that is no call when it is known who calls.
 *
 * @param scope the request's own: cancelled when its client goes
 * @param verdict what the hook says of the request
 * @param answer what the request gets if the hook lets it through
 * @param refusalOf what it gets if the hook refuses it
 */
export function admitted<Let extends Answer | undefined>(
  service: Service,
  scope: RequestScope,
  verdict: Verdict | Promise<Verdict>,
  answer: () => Let | Promise<Let>,
  refusalOf: (refusal: Outcome) => Answer = refused,
): Answer | Let | Promise<Answer | Let> {
  scope.verdict = verdict;
  const refusal = service.admit(scope);
  const settle = (value: Outcome | undefined): Answer | Let | Promise<Let> =>
    value === undefined ? answer() : refusalOf(value);
  return refusal instanceof Promise ? refusal.then(settle) : settle(refusal);
}

function refused(refusal: Outcome): Answer {
  const body = cappedReply('null', refusal, Number.POSITIVE_INFINITY);
  // 403 instead of 401: a 401 must name a scheme to log in with (RFC 9110, 15.5.2), which only the hook knows.
  return jsonAnswer(statusOfService(refusal.code) ?? 403, body, noStore);
}
