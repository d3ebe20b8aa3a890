import { isLoopback } from '../../../core/base/loopback.ts';
import type { Denial } from '../../../core/dispatch/share.ts';
import type { Answer, BodyHandler } from './answer.ts';
import type { HttpAuthenticator } from './auth.ts';

/** The complete options of both transports. The configuration fills in the defaults. */
export interface HttpOptions {
  /** A name or an address. A name is resolved once, at the start. */
  readonly host: string;
  /** 0 to 65535; 0 takes a free port, which `HttpServer.address` reports. */
  readonly port: number;
  /**
   * Whether other processes may listen on the port too; the system then shares connections out. uWebSockets.js only.
   * Of a Unix socket: whether the last process that listens has it.
   */
  readonly sharedPort: boolean;
  /** The path of a Unix socket to listen on in place of `host` and `port`; empty: none. */
  readonly socket: string;
  /** Permissions of the socket's file. */
  readonly socketMode: number;
  /** The path at which JSON-RPC is served; literal, without patterns. */
  readonly path: string;
  /** The path at which MCP is served, and what serves it; undefined: nowhere. */
  readonly mcp: { readonly path: string; readonly facade: Facade } | undefined;
  /** `*`, or the origins that browsers may call from. */
  readonly corsOrigin: '*' | readonly string[];
  /** Names, in lower case, of request headers that pages may send beside those that this service reads. */
  readonly corsHeaders: readonly string[];
  /** Whether pages of the origins in the list of `corsOrigin` may send cookies along. */
  readonly corsCredentials: boolean;
  /** Hosts that a request may name, in lower case; empty: any host. */
  readonly allowedHosts: readonly string[];
  /** Addresses and networks of proxies that may name the caller's address; empty: none may. */
  readonly trustedProxies: readonly string[];
  /** Whether callers whose connection comes straight from this machine see the messages of internal errors. */
  readonly showsFaults?: boolean;
  /** The header that tells callers apart, in lower case. Read only where a trusted proxy sends it. */
  readonly callerHeader: string | undefined;
  /** Paths of a private key and of its certificate; both empty: connections are not encrypted. */
  readonly tlsKey: string;
  readonly tlsCert: string;
  /** Asked about each call, and about GET on `path`; undefined: everybody may call. */
  readonly authenticate: HttpAuthenticator | undefined;
  readonly maxBodyBytes: number;
  /** Most bytes of all headers: names, values and four bytes for each; at most 16 KiB, where the parsers end. */
  readonly maxHeaderBytes: number;
  /** Most headers of a request; at most 96. */
  readonly maxHeaders: number;
  /** How long a body may take to arrive, beyond the time that its length allows. */
  readonly bodyTimeoutMs: number;
  /** How long a client may take to read a large reply, beyond the time that its length allows. */
  readonly writeTimeoutMs: number;
  /** Most bytes of a reply; also most bytes that a socket may leave unread. */
  readonly maxReplyBytes: number;
  /** Whether `path` takes WebSockets. */
  readonly webSocket: boolean;
  /** Most messages of one socket that wait for their answers. */
  readonly maxCallsPerConnection: number;
  /** Most streams that one socket may have at the same time. */
  readonly maxStreamsPerConnection: number;
  /** How long a socket or an event stream may be quiet before it is pinged; 0: it never is. */
  readonly streamPingMs: number;
  /** How long a socket may send nothing at all, no answer to a ping either, before it is closed; 0: for ever. */
  readonly socketIdleMs: number;
  /** Whether GET on `path` answers with the introspection document. */
  readonly introspection: boolean;
  /** Whether /healthz and /readyz answer. */
  readonly health: boolean;
  /** What is served below `/console/`; undefined: nothing. */
  readonly console: ConsoleSite | undefined;
  readonly serves: Serves;
  /** Names of request headers that procedures may see, in any case. */
  readonly forwardHeaders: readonly string[];
  readonly maxConnections: number;
  /** Called for each connection that was closed because too many are open, of all addresses or of its own. */
  readonly onConnectionRefused: (denial: Denial) => void;
  /** How long close() waits for the requests in flight. */
  readonly shutdownGraceMs: number;
  /** Logs one line, given without its line end. */
  readonly warn: (message: string) => void;
}

/** What an operator should know at start, one line each (docs/protocol.md, "POST /rpc"). */
export function startupNotes(options: HttpOptions): string[] {
  if (options.corsOrigin !== '*' || options.socket !== '' || !isLoopback(options.host)) return [];
  return [
    `cors origin is '*': any web page open in a browser on this machine may call ${options.host}; ` +
      'set a list of origins to stop that',
  ];
}

/**
 * Throws at mistakes that a transport would not report: uWebSockets.js takes a port modulo 65536, reads `:` and `*`
 * in a path as patterns, and writes a header value as it is, line breaks included.
 *
 * @throws TypeError with one line that names the option
 */
export function assertHttpOptions(options: HttpOptions): void {
  const { port, path, corsOrigin } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`port must be an integer from 0 to 65535, got ${port}`);
  }
  for (const [name, one] of Object.entries({ path, mcpPath: options.mcp?.path ?? '/' })) {
    if (/^\/[\w.~!$&'()+,;=@%/-]*$/.test(one)) continue;
    throw new TypeError(
      `${name} must start with / and hold no :, *, ? or space, got ${JSON.stringify(one)}`,
    );
  }
  if (corsOrigin === '*') return;
  for (const origin of corsOrigin) {
    if (!/^[\x21-\x7e]+$/.test(origin) || origin === '*') {
      throw new TypeError(
        `cors origin must be an origin such as https://example.org, got ${JSON.stringify(origin)}`,
      );
    }
  }
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
