import { isLoopback } from '../../../core/base/loopback.ts';
import type { Config } from '../../../core/config/config.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Document } from '../../../core/dispatch/service.ts';
import type { Denial } from '../../../core/dispatch/share.ts';
import type { Answer, BodyHandler } from './answer.ts';

/** Silence in which a client that is alive answers several pings. */
export const socketIdleMs = 60_000;

/** The complete options of both servers: the configuration, and what an app makes of it. */
export interface HttpOptions extends Omit<Config, 'mcp' | 'console'> {
  /**
   * Whether other processes may listen on the port too; the system then shares connections out. uWebSockets.js only.
   * Of a Unix socket: whether the last process that listens has it.
   */
  readonly sharedPort: boolean;
  /** How long a WebSocket may send nothing, no answer to a ping either, before it is closed. */
  readonly socketIdleMs: number;
  /** The path at which MCP is served, and what serves it; undefined: nowhere. */
  readonly mcp: McpSite | undefined;
  /** The path below which each procedure has a URL, and what serves them; undefined: none has one. */
  readonly api: { readonly path: string; readonly facade: ProcedureUrls } | undefined;
  /** What is served below `/console/`; undefined: nothing. */
  readonly console: ConsoleSite | undefined;
  readonly serves: Serves;
  /** Asked about each call, and about GET on `path`; undefined: everybody may call. */
  readonly authenticate: Authenticator<AuthRequest> | undefined;
  /** Whether callers whose connection comes straight from this machine see the messages of internal errors. */
  readonly showsFaults?: boolean;
  /** The header that tells callers apart, in lower case. Read only if a trusted proxy sends it. */
  readonly callerHeader: string | undefined;
  /** Called for each connection that was closed because too many are open, of all addresses or of its own. */
  readonly onConnectionRefused: (denial: Denial) => void;
  /** Called for each request whose host is refused, or whose page may not read the answer. */
  readonly onForeign: (header: 'host' | 'origin', value: string | undefined) => void;
  /** Logs one line, given without its line end. */
  readonly warn: (message: string) => void;
  /** Logs in one line which server serves, and why. */
  readonly tellTransport: (level: 'info' | 'warn', message: string) => void;
}

/** What is known of an HTTP request before its body arrives. */
export interface AuthRequest {
  /** All headers: names in lower case, repeated headers joined with ", " (cookies with "; "). Read only. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The caller's address as the connection has it; undefined where the connection has gone. */
  readonly remoteAddress: string | undefined;
  /** In capitals: POST for calls; GET or HEAD for the introspection document. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

/**
 * Decides who calls. What the hook returns, a JSON value or nothing, is `context.auth` of each call of the request.
 * To refuse, the hook throws an RpcError, which the caller gets as it is. Anything else that it throws is a -32603.
 * Called once per request, when the headers are there; may be asynchronous.
 */
export type Authenticate = (request: AuthRequest) => unknown;

/** What an operator should know at start, one line each (docs/protocol.md, "POST /rpc"). */
export function startupNotes(options: HttpOptions): string[] {
  if (options.corsOrigin !== '*' || options.socket !== '' || !isLoopback(options.host)) return [];
  return [
    `cors origin is '*': any web page open in a browser on this machine may call ${options.host}; ` +
      'set a list of origins to stop that',
  ];
}

/** What a server answers: everything, calls only, or only what operators ask for. */
export type Serves = 'all' | 'calls' | 'operations';

/** A request for a page of the console, or for a part of one. */
export interface PageRequest {
  /** What stands behind `/console/`, without the query; empty: the page itself. */
  readonly name: string;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** The console, as both servers see it. */
export interface ConsoleSite {
  /** Whether a request with this Host header is answered at all. */
  isServed(host: string | undefined): boolean;
  /** @param serves what the server answers on which the page is asked for: the page shows no more than that */
  page(request: PageRequest, serves: Serves): Answer | Promise<Answer>;
  /** The figures of the service; undefined: none are kept. */
  readonly figures: (() => Promise<Answer>) | undefined;
  /** Params for a procedure, which the page's editor begins with. */
  example(query: string): Promise<Answer>;
  /** Whether the page may have a profile taken: see {@link profile}. */
  readonly acts: boolean;
  /** Takes a CPU profile of this process. @param left aborts when the client has gone */
  profile(query: string, left: AbortSignal): Promise<Answer>;
}

/** MCP, as both servers see it. */
interface McpSite {
  readonly path: string;
  readonly facade: Facade;
  /** What hosts of agents read before they sign in; undefined: they are not told. */
  readonly metadata: ResourceMetadata | undefined;
}

/** A document that any page may read. */
interface ResourceMetadata {
  /** Where it is served. */
  readonly paths: ReadonlySet<string>;
  answer(method: string): Answer;
}

/** The headers that repeat what a message of MCP says. Repeated headers are joined with a comma. */
export interface McpHeaders {
  version: string | undefined;
  method: string | undefined;
  name: string | undefined;
}

/** The headers of a request that a facade reads. */
export interface FacadeHead {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly mcp: McpHeaders | undefined;
  /** Whether the header `authorization` was sent. */
  readonly hasAuthorization: boolean;
}

/** What serves the procedures at a path of its own, by another protocol than JSON-RPC. */
export interface Facade {
  /** Answers one POST. @param head read here: it is used again for the next request */
  handler(head: FacadeHead): BodyHandler;
  /** Answers any other method. */
  answer(method: string): Answer;
  /**
   * Why a request is refused for where it comes from; undefined: it is not.
   *
   * @param isLocal whether only this machine can reach the server
   */
  refusal(head: FacadeHead, isLocal: boolean): Answer | undefined;
}

/** A request below `httpPath`, as its server has read it. */
export interface ApiRequest {
  /** In capitals. */
  readonly method: string;
  /** What stands behind `httpPath` and its slash, as it was sent. */
  readonly name: string;
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
  /** Somebody is asked who calls. */
  readonly asksWho: boolean;
}

/** Answers one request below `httpPath`. */
export interface ApiExchange extends BodyHandler {
  /** What is answered before anybody is asked who calls, and before a body is read; undefined: it is a call. */
  early(): Answer | undefined;
}

/** The procedures as plain HTTP: one URL for each. */
export interface ProcedureUrls {
  begin(request: ApiRequest): ApiExchange;
  /** Whether a procedure has this URL. @param name as in {@link ApiRequest} */
  has(name: string): boolean;
  /** The answer to a caller that may not read the document. @param error its JSON text */
  refusal(error: string): Answer;
  /** The OpenAPI document; undefined while there is none: the service starts, or has ended. */
  document(): Promise<Document> | undefined;
}
