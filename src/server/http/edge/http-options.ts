import { isLoopback } from '../../../core/base/loopback.ts';
import type { Config } from '../../../core/config/config.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Document } from '../../../core/dispatch/service.ts';
import type { Denial } from '../../../core/dispatch/share.ts';
import type { Route, Serves } from './route.ts';

/** Silence in which a client that is alive answers several pings. */
export const socketIdleMs = 60_000;

/** The complete options of both servers: the configuration, and what an app makes of it. */
export interface HttpOptions extends Config {
  /**
   * Whether other processes may listen on the port too; the system then shares connections out. uWebSockets.js only.
   * Of a Unix socket: whether the last process that listens has it.
   */
  readonly sharedPort: boolean;
  /** How long a WebSocket may send nothing, no answer to a ping either, before it is closed. */
  readonly socketIdleMs: number;
  /** What is served beside the calls: MCP, the URLs of procedures, the console. */
  readonly routes: (serves: Serves) => readonly Route[];
  /** The OpenAPI document, or nothing while the service starts or has ended; undefined: procedures have no URLs. */
  readonly openApi: (() => Promise<Document> | undefined) | undefined;
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
