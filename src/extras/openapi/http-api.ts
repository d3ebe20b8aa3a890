import { serviceName } from '../../core/base/package-files.ts';
import { suggest } from '../../core/base/suggest.ts';
import { openApiPath } from '../../core/config/config.ts';
import { neverRan } from '../../core/dispatch/call.ts';
import { afterVerdict } from '../../core/dispatch/deadline.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { Document, ServedProcedures } from '../../core/dispatch/service.ts';
import type { Log } from '../../core/observe/log.ts';
import { bytesParamOf } from '../../core/procedures/raw-bytes.ts';
import { keepBody, maxNameLength } from '../../core/protocol/body.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { contentOf, type Reply, type ReplySink } from '../../core/protocol/reply.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import {
  type Answer,
  type BodyAnswer,
  type BodyHandler,
  preflight,
  rateLimitLines,
  serviceFailed,
} from '../../server/http/edge/answer.ts';
import type { HttpOptions } from '../../server/http/edge/http-options.ts';
import type { RequestHead } from '../../server/http/edge/request-head.ts';
import type { RequestLine, Route } from '../../server/http/edge/route.ts';
import { TrustedOrigins } from '../../server/http/edge/trusted-origins.ts';
import { EventStream } from '../../server/http/event-stream/event-stream.ts';
import { documentAnswer, getOnly } from '../../server/http/routes.ts';
import { acceptPost, type BodyKind, bodyKindOf, formTypes, mediaTypeOf } from './accept.ts';
import { isBodyFault, type Json, toBytes, withBody, withMembers } from './body.ts';
import { openApiBytes } from './document.ts';
import { callId, type Operation, Operations } from './operation.ts';
import { Problems } from './problem.ts';
import { readQuery } from './query.ts';
import {
  answersBytes,
  eventFormat,
  HeadOfStream,
  headOfStream,
  resultAnswer,
  wantsEvents,
} from './result.ts';

interface Known {
  readonly served: ServedProcedures;
  readonly operations: Operations;
  document: Promise<Document> | undefined;
}

/**
 * The procedures of a service as plain HTTP: one URL for each. It turns a request into a call of JSON-RPC and its reply into
 * an answer, so that everything between the two is the service's own. It keeps nothing between two requests.
 */
export class HttpApi {
  readonly service: Dispatcher;
  /** Whose pages may send what a browser asks nobody about. */
  readonly origins: TrustedOrigins;
  readonly problems: Problems;
  /** The request headers that say who calls, and those that procedures see: what is kept for one is not for others. */
  readonly vary: readonly string[];
  readonly hasAuth: boolean;
  readonly #preflightHeaders: readonly string[];
  /** Read here: no file is read while calls are served. */
  readonly #title = serviceName();
  #known: Known | undefined;

  /** @param hasAuth whether somebody is asked who calls */
  constructor(service: Dispatcher, http: HttpOptions, hasAuth: boolean) {
    const { httpAuth } = service.config;
    const { forwardHeaders, corsHeaders } = http;
    this.service = service;
    this.origins = new TrustedOrigins(http);
    this.hasAuth = hasAuth;
    this.problems = new Problems(httpAuth === 'basic' ? basicChallenge : 'Bearer');
    const header = /^header:(.*)$/.exec(httpAuth)?.[1]?.toLowerCase();
    const who = hasAuth
      ? ['authorization', 'cookie', ...(header === undefined ? [] : [header])]
      : [];
    this.vary = [...new Set([...who, ...forwardHeaders.map((name) => name.toLowerCase())])];
    this.#preflightHeaders = [...ownHeaders, ...corsHeaders];
  }

  /**
   * Once something is served: says which patterns name no procedure, and what can't be reached as its author may think.
   *
   * @throws StartupError for a procedure whose answers must not be kept as it is declared
   */
  async check(log: Log): Promise<void> {
    const operations = await this.operations();
    if (operations === undefined) return;
    operations.assertCaches();
    const warn = (message: string): void => log.warn({ event: 'http-api' }, message);
    for (const pattern of operations.unmatched) {
      warn(`httpProcedures: no procedure is called ${pattern}`);
    }
    if (operations.withoutUrl.length > 0) {
      warn(
        `no URL can hold these names, so they are left out: ${operations.withoutUrl.join(', ')}`,
      );
    }
    for (const name of operations.procedures.keys()) {
      const { mediaType } = operations.find(name)?.bytesParam ?? {};
      const type = mediaType === undefined ? undefined : mediaTypeOf(mediaType);
      if (type === undefined || !formTypes.includes(type)) continue;
      warn(
        `${name}: pages of any origin may send ${type}, so its bytes come as application/octet-stream or in JSON`,
      );
    }
  }

  /** @param path below which the procedures are */
  routes(path: string): readonly Route[] {
    const prefix = `${path}/`;
    const nameIn = ({ routed }: RequestLine) => routed.slice(prefix.length);
    const call = (line: RequestLine, head: RequestHead) =>
      new ApiCall(this, nameIn(line), line, head);
    const calls = { call, takesJson: false };
    const document: Route = {
      path: openApiPath,
      GET: {
        hasAuth: true,
        // The document is refused as the URLs that it describes are.
        refused: ({ text }) => this.problems.ofRefusal(text),
        answer: (_, { ifNoneMatch }) => documentAnswer(this.document(), ifNoneMatch),
      },
      others: getOnly,
    };
    return [
      {
        path: `${prefix}*`,
        POST: calls,
        others: calls,
        // Spans of other names have no route, since callers could make any number of them.
        isKnown: (line) => this.#known?.operations.procedures.has(nameIn(line)) === true,
      },
      ...(this.service.config.introspection ? [document] : []),
    ];
  }

  /** The procedures that have URLs; a promise while the service starts; undefined: it has ended. */
  operations(): Operations | undefined | Promise<Operations | undefined> {
    const served = this.service.served();
    return served instanceof Promise
      ? served.then((procedures) => procedures && this.#knownOf(procedures).operations)
      : served && this.#knownOf(served).operations;
  }

  /** The OpenAPI document; undefined while there is none: the service starts, or has ended. */
  document(): Promise<Document> | undefined {
    const served = this.service.served();
    if (served === undefined || served instanceof Promise) return undefined;
    const known = this.#knownOf(served);
    const facts = { ...this.service.config, title: this.#title, hasAuth: this.hasAuth };
    known.document ??= openApiBytes(known.operations, facts);
    return known.document;
  }

  /** The answer to a preflight. @param allow the methods of the path */
  preflight(allow: string): Answer {
    const exposed = ['etag', 'retry-after', 'ratelimit', 'ratelimit-policy'];
    return preflight({ allow, headers: this.#preflightHeaders, exposed });
  }

  /** @param operations among which a similar name is looked for; undefined: none is told */
  notFound(name: string, operations: Operations | undefined): Answer {
    const didYouMean = operations && suggest(name, operations.procedures.keys());
    // Longer names than any procedure may have are not sent back.
    const method = name.slice(0, maxNameLength);
    const data = didYouMean === undefined ? { method } : { method, didYouMean };
    return this.problems.of(404, ErrorCode.MethodNotFound, data);
  }

  #knownOf(served: ServedProcedures): Known {
    let known = this.#known;
    if (known?.served.table !== served.table || known.served.version !== served.version) {
      const { httpProcedures } = this.service.config;
      const operations = new Operations(served.table, httpProcedures, this.hasAuth);
      known = { served, operations, document: undefined };
      this.#known = known;
    }
    return known;
  }
}

/** RFC 7617 asks for a realm: it names what the password is for. */
const basicChallenge = 'Basic realm="tandem-rpc", charset="UTF-8"';

/** The request headers that every page may send, since they are read. */
const ownHeaders = [
  'content-type',
  'authorization',
  'if-none-match',
  'traceparent',
  'rpc-timeout-ms',
];

/** A request below `httpPath`, as its server has read it. */
interface ApiRequest {
  /** In capitals. */
  readonly method: string;
  /** Without its question mark. */
  readonly query: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** A body of at least a byte follows, or chunks do. */
  readonly hasBody: boolean;
  /** A browser goes to this URL from a page of another site: somebody has followed a link. */
  readonly isCrossSiteVisit: boolean;
}

function requestOf({ method, query, isLocal }: RequestLine, head: RequestHead): ApiRequest {
  // A query may be as long as headers.
  head.bytes += query.length;
  const { contentType, accept, ifNoneMatch, host, origin, fetchSite, fetchMode } = head;
  return {
    method,
    query,
    isLocal,
    host,
    origin,
    contentType,
    accept,
    ifNoneMatch,
    hasBody: head.isChunked || head.contentLength > 0,
    isCrossSiteVisit: fetchSite === 'cross-site' && fetchMode === 'navigate',
  };
}

/**
 * One request below `httpPath`, from its head to its answer:
 *
 *     early     what is answered whoever calls: a method, a content type, an origin that is not taken
 *     handle    asks who calls; reads the params of the query or of the body; has the service call the procedure
 *     #answer   writes the reply as a result, as bytes, or as a problem
 */
class ApiCall implements BodyHandler, ReplySink {
  readonly isUncached = true;
  readonly reword: (answer: Answer) => Answer;
  readonly #api: HttpApi;
  readonly #request: ApiRequest;
  /** Percent-decoded; undefined: it can't be. */
  readonly #name: string | undefined;
  /** Once it is known, and the request keeps to its rules. */
  #operation: Operation | undefined;
  #bodyKind: BodyKind = 'json';
  #scope: RequestScope | undefined;
  #sink: ReplySink<BodyAnswer> | undefined;

  /** @param name as it was sent */
  constructor(api: HttpApi, name: string, line: RequestLine, head: RequestHead) {
    this.#api = api;
    this.#request = requestOf(line, head);
    this.#name = decoded(name);
    this.reword = api.problems.reword;
  }

  get takesEvents(): boolean {
    const { method } = this.#request;
    // While the service starts, nobody knows what the procedure is.
    const operation = this.#operation;
    return (
      method !== 'HEAD' && (operation === undefined || wantsEvents(operation, this.#request.accept))
    );
  }

  early(): Answer | undefined {
    const { problems } = this.#api;
    if (this.#name === undefined) {
      const reason = 'the path is not percent-encoded UTF-8';
      return problems.of(400, ErrorCode.InvalidRequest, { reason });
    }
    const operations = this.#api.operations();
    if (operations instanceof Promise) {
      return this.#request.method === 'OPTIONS' ? this.#api.preflight(everyMethod) : undefined;
    }
    const { method } = this.#request;
    if (this.#api.hasAuth && operations?.find(this.#name) === undefined) {
      // Names that are near to this one are told to those who may call. A preflight never says who calls.
      return method === 'OPTIONS' ? this.#api.notFound(this.#name, undefined) : undefined;
    }
    return this.#check(operations);
  }

  /** Asks who calls, where somebody can say that, and goes on. See {@link BodyHandler}. */
  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink<BodyAnswer>): void {
    this.#sink = sink;
    if (scope.verdict === undefined) {
      this.#begin(body, scope);
      return;
    }
    const kept = keepBody(body);
    afterVerdict(this.#api.service, scope, (refused) => {
      if (refused !== undefined) sink.onReply(this.#api.problems.ofRefusal(refused.text));
      else this.#begin(kept, scope);
    });
  }

  onReply(reply: Reply): void {
    this.#sink?.onReply(this.#answer(reply));
  }

  #begin(body: string | Uint8Array, scope: RequestScope): void {
    if (this.#operation !== undefined) {
      this.#run(this.#operation, body, scope);
      return;
    }
    const operations = this.#api.operations();
    if (operations instanceof Promise) {
      const kept = keepBody(body);
      operations.then(
        (found) => this.#runIn(found, kept, scope),
        () => this.#sink?.onReply(serviceFailed),
      );
    } else {
      this.#runIn(operations, body, scope);
    }
  }

  #runIn(operations: Operations | undefined, body: string | Uint8Array, scope: RequestScope): void {
    const refused = this.#check(operations);
    if (refused !== undefined) this.#sink?.onReply(refused);
    else this.#run(this.#operation as Operation, body, scope);
  }

  /** What the request is answered with before anything of it is read; undefined: it is a call of `#operation`. */
  #check(operations: Operations | undefined): Answer | undefined {
    const { method } = this.#request;
    if (operations === undefined) return this.#api.problems.of(503, ErrorCode.Cancelled, {});
    const name = this.#name ?? '';
    const operation = operations.find(name);
    if (operation === undefined) return this.#api.notFound(name, operations);
    if (method === 'OPTIONS') return this.#api.preflight(operation.allow);
    const refused = method === 'POST' ? this.#postRefusal(operation) : this.#readRefusal(operation);
    if (refused === undefined) this.#operation = operation;
    return refused;
  }

  /** A read by GET or HEAD, or a method that is not taken. */
  #readRefusal({ isRead, allow }: Operation): Answer | undefined {
    const { method, isCrossSiteVisit } = this.#request;
    const { problems, hasAuth } = this.#api;
    if (!isRead || (method !== 'GET' && method !== 'HEAD')) {
      const reason = `use ${isRead ? 'GET or POST' : 'POST'}`;
      return problems.of(405, ErrorCode.InvalidRequest, { reason }, ['allow', allow]);
    }
    // A link must not spend the quota of whoever is logged in and follows it.
    if (!hasAuth || !isCrossSiteVisit) return undefined;
    const reason =
      'a link on a page of another site leads here: call from a program, or a page of this site';
    return problems.of(403, ErrorCode.InvalidRequest, { reason });
  }

  /** Browsers send some POSTs for a page of any origin without asking: what they can send is not taken as a call. */
  #postRefusal({ bytesParam }: Operation): Answer | undefined {
    const { contentType, hasBody } = this.#request;
    const { problems, origins } = this.#api;
    if (contentType === undefined && !hasBody) {
      if (origins.has(this.#request)) return undefined;
      const reason =
        'a page of this origin may not call without a content-type: send content-type: application/json, or list the origin in corsOrigin';
      return problems.of(403, ErrorCode.InvalidRequest, { reason });
    }
    this.#bodyKind = contentType === undefined ? undefined : bodyKindOf(contentType, bytesParam);
    if (this.#bodyKind !== undefined) return undefined;
    const taken = acceptPost(bytesParam);
    const reason = `content-type must be one of: ${taken}`;
    return problems.of(415, ErrorCode.InvalidRequest, { reason }, ['accept-post', taken]);
  }

  #run(operation: Operation, body: string | Uint8Array, scope: RequestScope): void {
    const call = this.#callOf(operation, body, scope);
    if (typeof call === 'object' && 'status' in call) {
      this.#sink?.onReply(call);
      return;
    }
    this.#scope = scope;
    if (answersBytes(operation, this.#request.accept)) {
      scope.rawBytes = { param: scope.rawBytes?.param, asResult: true };
      scope.ending = { code: 0, runUs: neverRan };
    }
    this.#readStream(operation, scope);
    this.#api.service.handle(call, scope, this);
  }

  /** The JSON-RPC request that this one stands for, or why it stands for none. */
  #callOf(
    { procedure, head, params, others, bytesParam }: Operation,
    body: Json,
    scope: RequestScope,
  ): Json | Answer {
    const { method, query } = this.#request;
    const { problems, service } = this.#api;
    const refused = (code: ErrorCode, reason: string): Answer => problems.of(400, code, { reason });
    // The request is a level, too.
    const maxDepth = service.config.maxDepth - 1;
    if (method === 'POST' && this.#bodyKind === 'json') {
      if (query !== '') {
        return refused(ErrorCode.InvalidRequest, 'the params are in the body: leave the query out');
      }
      const made = withBody(head, body, maxDepth);
      return isBodyFault(made) ? refused(made.code, made.reason) : made;
    }
    const bytesName = method === 'POST' ? bytesParam?.name : undefined;
    const read = readQuery(query, { params, others }, maxDepth - 1, bytesName);
    if ('reason' in read) return refused(ErrorCode.InvalidRequest, read.reason);
    if (bytesName === undefined || bytesParamOf(procedure) !== bytesName) {
      return withMembers(head, read.members, bytesName, body);
    }
    scope.rawBytes = { param: toBytes(keepBody(body)), asResult: false };
    return withMembers(head, read.members);
  }

  /** Says who reads the stream of the call. If nobody does, the service gathers its values, or refuses the call. */
  #readStream(operation: Operation, scope: RequestScope): void {
    const { method, accept } = this.#request;
    if (!wantsEvents(operation, accept)) {
      scope.streams = undefined;
    } else if (method === 'HEAD') {
      scope.streams = new HeadOfStream();
    } else if (scope.streams instanceof EventStream) {
      scope.streams.format = eventFormat(operation, this.#api.problems);
    }
  }

  #answer(reply: Reply): BodyAnswer {
    const operation = this.#operation as Operation; // of a call that has run
    const request = this.#request;
    if (reply === undefined) {
      // The stream has opened: the server writes its events.
      return request.method === 'HEAD' ? headOfStream : undefined;
    }
    const { problems, vary } = this.#api;
    const lines = rateLimitLines(this.#scope?.rateNotice);
    const isBytes = this.#scope?.rawBytes?.asResult === true && this.#scope.ending?.code === 0;
    if (typeof reply !== 'string' && isBytes) {
      return resultAnswer({ bytes: reply }, operation, { request, vary, lines });
    }
    const content = contentOf(callId, reply);
    if ('error' in content) return problems.ofCall(content.error, operation, lines);
    return resultAnswer({ json: content.result }, operation, { request, vary, lines });
  }
}

/** While nobody knows the procedure. */
const everyMethod = 'GET, HEAD, POST, OPTIONS';

/** The name of a procedure, as its URL has it: decoded once, and never again. */
function decoded(name: string): string | undefined {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
