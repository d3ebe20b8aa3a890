import { isLocalName } from '../../core/base/loopback.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { Outcome, ReplySink } from '../../core/protocol/reply.ts';
import {
  type Answer,
  type BodyAnswer,
  type BodyHandler,
  jsonAnswer,
  preflight,
  rejection,
  statusOfService,
} from '../../server/http/edge/answer.ts';
import type { HttpOptions } from '../../server/http/edge/http-options.ts';
import type { McpHeaders, RequestHead } from '../../server/http/edge/request-head.ts';
import type { Route } from '../../server/http/edge/route.ts';
import { TrustedOrigins } from '../../server/http/edge/trusted-origins.ts';
import { EventStream, eventText } from '../../server/http/event-stream/event-stream.ts';
import type { McpClient } from './message.ts';
import { type Fault, isFault, type McpAnswer, McpCode } from './protocol.ts';
import type { McpServer } from './server.ts';
import type { SignIn } from './sign-in.ts';

/** Refuses a request below the protocol: as `rejection`, without the id null, which MCP does not have. */
function mcpRejection(status: number, reason: string, headers: readonly string[] = []): Answer {
  return withoutNullId(rejection(status, reason, { headers }));
}

/** How the replies of this edge begin whose id is not known. */
const nullId = '{"jsonrpc":"2.0","id":null,';

/** Codes that clients must not meet: what they mean here is told by the status. */
const ownCode = /"code":-320[01]\d,/;

/** A refusal of the edge in the words of MCP: without an id, and without codes that mean what a server likes. */
function withoutNullId(answer: Answer): Answer {
  const { body } = answer;
  if (typeof body !== 'string' || !body.startsWith(nullId)) return answer;
  const text = `{"jsonrpc":"2.0",${body.slice(nullId.length)}`;
  return { ...answer, body: text.replace(ownCode, `"code":${McpCode.InvalidRequest},`) };
}

/** Beside the headers of the origin: what clients that run in pages send. */
const mcpPreflight = preflight({
  allow: 'POST, OPTIONS',
  headers: [
    'content-type',
    'authorization',
    'mcp-protocol-version',
    'mcp-method',
    'mcp-name',
    'mcp-session-id',
    'last-event-id',
    'traceparent',
    'rpc-timeout-ms',
  ],
});

const foreignHost = mcpRejection(
  403,
  'the Host header names no local host; allowedHosts lists others',
);
const foreignOrigin = mcpRejection(
  403,
  'the Origin header names an origin whose pages may not call; corsOrigin lists those that may',
);

/**
 * MCP on a path of an HTTP server. There are no sessions and no events to GET.
 *
 * Agents run tools with the rights of the person before them, so pages are kept out unless the operator lets them in: a page
 * must not reach a local server by a name of its own (DNS rebinding), nor any server from another origin. If the Host is not
 * checked by `allowedHosts`, which every route asks, a server that only this machine can reach answers to local names alone.
 *
 * @param signIn what callers that are refused are told; undefined: only that they need a token
 */
export function mcpRoute(
  path: string,
  server: McpServer,
  options: Pick<HttpOptions, 'allowedHosts' | 'corsOrigin'>,
  signIn: SignIn | undefined,
): Route {
  const hasHosts = options.allowedHosts.length > 0;
  const origins = new TrustedOrigins(options);
  return {
    path,
    POST: { call: (_, head) => new McpExchange(server, signIn, head), takesJson: true },
    OPTIONS: mcpPreflight,
    others: mcpRejection(405, `use POST on ${path}`, ['allow', 'POST, OPTIONS']),
    refuse({ isLocal }, { host, origin }) {
      if (!hasHosts && isLocal && !isLocalName(host)) return foreignHost;
      return origins.has({ host, origin, isLocal }) ? undefined : foreignOrigin;
    },
  };
}

/** Every header that repeats something of the body is missing. */
const noHead: McpHeaders = { version: undefined, method: undefined, name: undefined };

/** The answer to a notification, whether it had an effect or not. */
const accepted: Answer = { status: 202, headers: [], body: '', close: false };

class McpExchange implements BodyHandler, ReplySink<McpAnswer> {
  readonly #server: McpServer;
  readonly #signIn: SignIn | undefined;
  readonly #head: McpHeaders;
  readonly #hasToken: boolean;
  #sink: ReplySink<BodyAnswer> | undefined;
  #events: EventStream | undefined;

  constructor(
    server: McpServer,
    signIn: SignIn | undefined,
    { mcp, hasAuthorization }: RequestHead,
  ) {
    this.#server = server;
    this.#signIn = signIn;
    this.#head = mcp ?? noHead;
    this.#hasToken = hasAuthorization;
  }

  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink<BodyAnswer>): void {
    const events = scope.streams instanceof EventStream ? scope.streams : undefined;
    this.#events = events;
    this.#sink = sink;
    const client: McpClient = {
      head: this.#head,
      events: events && writtenInto(events),
      outlet: undefined,
    };
    this.#server.handle(body, scope, client, this);
  }

  onReply(answer: McpAnswer): void {
    this.#sink?.onReply(this.#toAnswer(answer));
  }

  readonly reword = withoutNullId;

  #toAnswer(answer: McpAnswer): BodyAnswer {
    if (answer === undefined) return this.#events?.isOpen === true ? undefined : accepted;
    return isFault(answer) ? this.#faultAnswer(answer) : answer;
  }

  #faultAnswer({ fault, code, text }: Fault): Answer {
    if (fault === 'malformed') return jsonAnswer(400, text);
    if (fault === 'unknown-method') return jsonAnswer(404, text);
    const signIn = this.#signIn;
    if (fault === 'scope')
      return jsonAnswer(403, text, [...(signIn?.scopeLines ?? []), ...noStore]);
    const status = statusOfService(code);
    if (status !== undefined) return jsonAnswer(status, text, noStore);
    // 401 tells a client to log in, which in this protocol is always done with a bearer token.
    const lines = signIn?.challengeLines(this.#hasToken) ?? bearer;
    return jsonAnswer(401, text, [...lines, ...noStore]);
  }
}

function writtenInto(events: EventStream): NonNullable<McpClient['events']> {
  return (note, reply) => {
    const end = (outcome: Outcome): string => eventText(reply(outcome));
    events.format = { before: 'data: ', behind: '\n\n', value: note, end };
    return events;
  };
}

const noStore = ['cache-control', 'no-store'];
const bearer = ['www-authenticate', 'Bearer'];
