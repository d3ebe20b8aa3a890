import type { Authenticator, Verdict } from '../../core/dispatch/authenticate.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { Document, DocumentFormat, Service } from '../../core/dispatch/service.ts';
import { cappedReply, type Outcome } from '../../core/protocol/reply.ts';
import {
  type Answer,
  anyCors,
  type BodyHandler,
  bodyless,
  type Cors,
  type CorsLines,
  createCors,
  jsonAnswer,
  type Made,
  matchesEtag,
  noCors,
  preflight,
  rejection,
  statusOfService,
  textAnswer,
} from './edge/answer.ts';
import type { AuthRequest, HttpOptions } from './edge/http-options.ts';
import { createPeers } from './edge/peer.ts';
import { ReplyTurns } from './edge/reply-turns.ts';
import { Checks, isForeign } from './edge/request-checks.ts';
import { RequestHead } from './edge/request-head.ts';
import type { Action, Calls, Reads, RequestLine, Route, Serves } from './edge/route.ts';
import { HttpSpan } from './edge/span.ts';
import {
  BodyDeadlines,
  Exchange,
  type ExchangeContext,
  InFlight,
  type Responder,
} from './exchange.ts';
import type { SocketFacts } from './socket/sockets.ts';
import { Upgrades } from './socket/upgrades.ts';

/** Asks the code of a framework who calls, instead of `options.authenticate`. */
export type AskCaller = () => Verdict | Promise<Verdict>;

const metricsType = 'text/plain; version=0.0.4; charset=utf-8';
const noStore = ['cache-control', 'no-store'];
export const getOnly: Answer = rejection(405, 'use GET', { headers: ['allow', 'GET, HEAD'] });
const notReady = rejection(503, 'the service is starting or stopping, try again');
/** What a target is written in (RFC 3986, 2): uWebSockets.js takes other bytes too. */
const isTarget = /^[!-~]*$/;
const badTarget = rejection(400, 'the path must be percent-encoded');
const unknownFormat = rejection(
  400,
  'format must be openrpc, or openapi where httpPath is set; leave it out for the introspection document',
);

/** Where calls are taken, for a client that asked elsewhere. */
export function insteadOf(serves: Serves, path: string): string {
  return serves === 'operations' ? 'calls have another port' : `call ${path}`;
}

/**
 * The table of one server: what is served at each path, and to whom. A server reads a request's head into `head`, finds the
 * route of its path, and hands both to `begin` and `serve`.
 *
 *     path                  methods              who is asked    answer
 *     options.path          POST                 authenticate    calls
 *                           GET, HEAD            authenticate    introspection
 *                           GET with Upgrade     authenticate    a WebSocket
 *                           OPTIONS              nobody          preflight
 *     /metrics              GET, HEAD            nobody          figures for Prometheus
 *     /healthz, /readyz     GET, HEAD            nobody          the state of the service
 *     *                     OPTIONS              nobody          the methods there are
 *     options.routes        MCP, URLs of procedures and their document, the console: each says its own
 *     anything else         all                  nobody          404
 */
export class Routes {
  readonly context: ExchangeContext;
  /** One head for all requests: each request fills and reads it before its handler returns. */
  readonly head: RequestHead;
  readonly rpc: Route;
  readonly nothing: Route;
  readonly upgrades: Upgrades;
  readonly #exact = new Map<string, Route>();
  readonly #below: (readonly [prefix: string, route: Route])[] = [];
  readonly #upgrade: Reads = { hasAuth: true, answer: () => this.upgrades.ending() };
  readonly #cors: Cors;
  /** For pages whose origin is not in the list; undefined: there is no list. */
  readonly #foreignLines: CorsLines | undefined;

  /**
   * @param takesForeign see Upgrades
   * @param connections see ReplyTurns
   */
  constructor(
    service: Service,
    options: HttpOptions,
    takesForeign = true,
    connections?: () => number,
  ) {
    const { path, serves, streamPingMs, bodyTimeoutMs } = options;
    const { replyMemory } = service;
    this.context = {
      service,
      options,
      inFlight: new InFlight(),
      checks: new Checks(options),
      peers: createPeers(options),
      bodyDeadlines: new BodyDeadlines(),
      outflow: { streamPingMs, bodyTimeoutMs, replyMemory },
      turns: new ReplyTurns(connections),
    };
    this.head = new RequestHead(options);
    this.upgrades = new Upgrades(this.context, takesForeign);
    this.#cors = createCors(options);
    this.#foreignLines = options.corsOrigin === '*' ? undefined : this.#cors(undefined);
    this.nothing = {
      path: '',
      refuse: ({ path }) => (isTarget.test(path) ? undefined : badTarget),
      others: rejection(404, `nothing is served here, ${insteadOf(serves, path)}`),
    };
    this.rpc = rpcRoute(service, options);
    this.#add(wholeServer);
    if (serves !== 'operations') this.#add(this.rpc);
    for (const route of options.routes(serves)) this.#add(route);
    if (serves !== 'calls') for (const route of operatorRoutes(service, serves)) this.#add(route);
  }

  /** If two routes have one path, the first route gets it: `path` may be `/`, which the console has too. */
  #add(route: Route): void {
    const { path } = route;
    if (path.endsWith('/*')) this.#below.push([path.slice(0, -1), route]);
    else if (!this.#exact.has(path)) this.#exact.set(path, route);
  }

  /** @param path without the query */
  find(path: string): Route {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    for (const [prefix, route] of this.#below) if (path.startsWith(prefix)) return route;
    return this.nothing;
  }

  /** The same for a handler that is mounted in a server: there `/` belongs to that server. */
  findMounted(path: string): Route | undefined {
    const route = this.find(path);
    return route === this.nothing || (path === '/' && route !== this.rpc) ? undefined : route;
  }

  get calls(): readonly Route[] {
    const all = [...this.#exact.values(), ...this.#below.map(([, route]) => route)];
    return all.filter(({ POST }) => isCalls(POST));
  }

  /** Begins a request, whose answer `serve` gives. */
  begin(response: Responder, line: RequestLine): Exchange {
    const { head } = this;
    const { route, method, path, scheme } = line;
    const cors = this.#corsOf(route, head);
    const exchange = new Exchange(this.context, response, head, cors, method === 'HEAD');
    const { tracing } = this.context.service;
    if (tracing === undefined || !isCalls(route.POST)) return exchange;
    const { remoteAddress } = exchange.facts;
    const { traceparent, tracestate } = head;
    // A framework's router may have chosen this handler by a pattern.
    const isRoute = path === route.path || route.isKnown?.(line) === true;
    exchange.span = new HttpSpan(tracing, {
      method,
      path,
      route: isRoute ? path : undefined,
      scheme,
      remoteAddress,
      traceparent,
      tracestate,
    });
    return exchange;
  }

  /**
   * Checks a request and answers it, or has its body read, or makes a WebSocket of its connection.
   *
   * @param open upgrades the connection; undefined: the request does not ask for that
   * @returns whether the body is read
   */
  serve(
    exchange: Exchange,
    line: RequestLine,
    askCaller?: AskCaller,
    open?: (facts: SocketFacts) => void,
  ): boolean {
    const { head } = this;
    const action = open === undefined ? actionOf(line.route, line.method) : this.#upgrade;
    const calls = isCalls(action) ? action : undefined;
    if (calls !== undefined) exchange.handler = calls.call(line, head);
    const refusal = this.#refusalOf(exchange.handler, line, action);
    if (refusal !== undefined) {
      exchange.answer(refusal);
      return false;
    }
    if ('status' in action) {
      exchange.answer(action);
      return false;
    }
    if (open !== undefined) this.upgrades.withhold(head);
    // What calls may see of the head, and a time limit that was checked.
    if (calls !== undefined || open !== undefined) exchange.facts.take(head);
    const scope = exchange.begin(head);
    const hasBody = calls !== undefined && line.method === 'POST';
    if (hasBody && !exchange.receive(head, scope)) return false;
    // After the line above: a body that arrives before it has its listener would be lost.
    if (isCalls(action) || action.hasAuth === true) {
      const verdict = this.#ask(exchange, line, askCaller);
      if (verdict !== undefined) scope.verdict = verdict;
    }
    if (hasBody) return true;
    if (isCalls(action)) exchange.run();
    else this.#answer(exchange, scope, action, line, open);
    return false;
  }

  /** The checks of every request, in their order (docs/protocol.md, "POST /rpc"). */
  #refusalOf(handler: BodyHandler, line: RequestLine, action: Action): Answer | undefined {
    const { head } = this;
    const { checks } = this.context;
    const { route } = line;
    const calls = isCalls(action) ? action : undefined;
    const hasBody = calls !== undefined && line.method === 'POST';
    // Without a length and without chunks a request has no body (RFC 9112, 6.3). JSON-RPC needs one.
    if (hasBody && !calls.takesJson) head.assumeNoBody();
    return (
      checks.framing(head, hasBody) ??
      (route.takesAnyHost === true ? undefined : checks.host(head)) ??
      (hasBody ? checks.length(head) : undefined) ??
      route.refuse?.(line, head) ??
      (action === this.#upgrade ? this.upgrades.refusal(head) : undefined) ??
      (calls === undefined
        ? undefined
        : ((calls.takesJson ? checks.type(head) : handler.early?.()) ?? checks.content(head)))
    );
  }

  /** Answers a request that is no call, when it is known who asks. */
  #answer(
    exchange: Exchange,
    scope: RequestScope,
    action: Reads,
    line: RequestLine,
    open: ((facts: SocketFacts) => void) | undefined,
  ): void {
    const { ifNoneMatch, acceptEncoding } = this.head;
    const answer = () => action.answer(line, { ifNoneMatch, acceptEncoding, scope });
    const made =
      scope.verdict === undefined ? answer() : this.#admitted(scope, answer, action.refused);
    if (open === undefined) {
      exchange.answerWhen(made);
      return;
    }
    const { headers, timeoutMs, traceparent, tracestate } = exchange.facts;
    const { remoteAddress, callerHeader, showsFaults } = exchange.facts;
    const { path } = line;
    const facts = { headers, timeoutMs, traceparent, tracestate, remoteAddress, callerHeader };
    exchange.answerWhen(made, () =>
      open({ ...facts, showsFaults, path, route: path, authText: scope.authText }),
    );
  }

  /** @param answer what the request gets if `authenticate` lets it through */
  #admitted(
    scope: RequestScope,
    answer: () => Made | Promise<Made>,
    refusalOf: (refusal: Outcome) => Answer = refused,
  ): Made | Promise<Made> {
    const refusal = this.context.service.admit(scope);
    const settle = (value: Outcome | undefined) =>
      value === undefined ? answer() : refusalOf(value);
    return refusal instanceof Promise ? refusal.then(settle) : settle(refusal);
  }

  #corsOf({ readers }: Route, head: RequestHead): CorsLines {
    if (readers !== undefined) return readers === 'any page' ? anyCors : noCors;
    const lines = this.#cors(head.origin);
    if (lines === this.#foreignLines && isForeign(head)) {
      this.context.options.onForeign('origin', head.origin);
    }
    return lines;
  }

  /** Asks who calls; undefined: everybody may. */
  #ask(
    { facts }: Exchange,
    { method, path }: RequestLine,
    askCaller: AskCaller | undefined,
  ): Verdict | Promise<Verdict> | undefined {
    if (askCaller !== undefined) return askCaller();
    const authenticate: Authenticator<AuthRequest> | undefined = this.context.options.authenticate;
    if (authenticate === undefined) return undefined;
    const headers = Object.freeze(this.head.all ?? {});
    const { remoteAddress } = facts;
    const request = Object.freeze({ headers, remoteAddress, method, path });
    return authenticate(request, facts.showsFaults);
  }
}

function isCalls(action: Action | undefined): action is Calls {
  return action !== undefined && 'call' in action;
}

/** @param method in capitals */
function actionOf(route: Route, method: string): Action {
  switch (method) {
    case 'POST':
      return route.POST ?? route.others;
    case 'GET':
    case 'HEAD':
      return route.GET ?? route.others;
    case 'OPTIONS':
      return route.OPTIONS ?? route.others;
    default:
      return route.others;
  }
}

/** Whether a request calls procedures by its body. */
export function readsBody({ route, method }: RequestLine): boolean {
  return method === 'POST' && isCalls(route.POST);
}

/** The server itself (RFC 9112, 3.2.4). */
const wholeServer: Route = {
  path: '*',
  OPTIONS: bodyless(204, ['allow', 'GET, HEAD, POST, OPTIONS']),
  others: rejection(400, 'the target * is for OPTIONS alone'),
};

function rpcRoute(service: Service, options: HttpOptions): Route {
  const { path, introspection, corsHeaders, openApi } = options;
  const allow = introspection ? 'POST, GET, HEAD, OPTIONS' : 'POST, OPTIONS';
  const introspect: Reads = {
    hasAuth: true,
    answer({ query }, { ifNoneMatch }) {
      const format = formatOf(query);
      if (format === undefined || (format === 'openapi' && openApi === undefined)) {
        return unknownFormat;
      }
      const document = format === 'openapi' ? openApi?.() : service.introspect(format);
      return documentAnswer(document, ifNoneMatch);
    },
  };
  return {
    path,
    POST: { call: () => service, takesJson: true },
    ...(introspection && { GET: introspect }),
    // Every page may send the headers that this service reads.
    OPTIONS: preflight({
      allow,
      methods: 'POST, GET, OPTIONS',
      headers: ['content-type', 'authorization', 'traceparent', 'rpc-timeout-ms', ...corsHeaders],
    }),
    others: rejection(405, `use POST on ${path}`, { headers: ['allow', allow] }),
  };
}

/** What load balancers and scrapers ask for. */
function operatorRoutes(service: Service, serves: Serves): Route[] {
  const { metrics } = service;
  const state = (): Answer =>
    jsonAnswer(service.state === 'ready' ? 200 : 503, `{"status":"${service.state}"}`, noStore);
  const alive = jsonAnswer(200, '{"status":"ok"}', noStore);
  const routes: Route[] = [
    { path: '/healthz', takesAnyHost: true, GET: alive, others: getOnly },
    { path: '/readyz', takesAnyHost: true, GET: { answer: state }, others: getOnly },
  ];
  if (metrics !== undefined) {
    const answer = async () => textAnswer(await metrics.bytes(), metricsType, noStore);
    const takesAnyHost = serves === 'operations';
    routes.push({ path: '/metrics', takesAnyHost, GET: { answer }, others: getOnly });
  }
  return routes;
}

/** The format that the query of a GET asks for. Other parameters are ignored, since they are not this service's. */
function formatOf(query: string): DocumentFormat | 'openapi' | undefined {
  const [format, second] = new URLSearchParams(query).getAll('format');
  if (format === undefined) return 'tandem';
  const isKnown = format === 'openrpc' || format === 'openapi';
  return isKnown && second === undefined ? format : undefined;
}

/** @param made undefined: the service starts, or has ended */
export async function documentAnswer(
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

function refused(refusal: Outcome): Answer {
  const body = cappedReply('null', refusal, Number.POSITIVE_INFINITY);
  // 403 instead of 401: a 401 must name a scheme to log in with (RFC 9110, 15.5.2), which only the hook knows.
  return jsonAnswer(statusOfService(refusal.code) ?? 403, body, noStore);
}
