import type { HttpAuthenticator } from './auth-request.ts';

/** What both transports need, complete: config fills the defaults, nothing below asks again. */
export interface HttpOptions {
  /** A name or an address; resolved once, at start. */
  readonly host: string;
  /** 0 to 65535; 0 takes a free one, which `HttpServer.address` reports. */
  readonly port: number;
  /** Other processes may listen on the port too, and the system shares connections out; uws only. */
  readonly sharedPort: boolean;
  /** Where JSON-RPC is served; literal, no patterns. */
  readonly path: string;
  /** `*`, or the origins that browsers may call from. */
  readonly corsOrigin: '*' | readonly string[];
  /** Hosts that a request may name, lower case; empty: any. */
  readonly allowedHosts: readonly string[];
  /** Addresses and networks whose word on the caller's address is taken; empty: nobody's. */
  readonly trustedProxies: readonly string[];
  /** A header that tells callers apart, in lower case, where a trusted proxy sends it. */
  readonly callerHeader: string | undefined;
  /** Paths of a private key and of its certificate; both empty: connections are not encrypted. */
  readonly tlsKey: string;
  readonly tlsCert: string;
  /** Asked of each call, and of GET on `path`, where it is given. */
  readonly authenticate: HttpAuthenticator | undefined;
  readonly maxBodyBytes: number;
  /** Names, values and four bytes for each; at most 16 KiB, which is where the parsers end. */
  readonly maxHeaderBytes: number;
  /** At most 96. */
  readonly maxHeaders: number;
  /** How long a body may take to arrive, beyond what its length allows. */
  readonly bodyTimeoutMs: number;
  /** How long a client may take to read a large reply, beyond what its length allows. */
  readonly writeTimeoutMs: number;
  /** GET on `path` answers with the introspection document. */
  readonly introspection: boolean;
  /** /healthz and /readyz answer. */
  readonly health: boolean;
  /** What this server answers: everything, calls alone, or what operators ask for alone. */
  readonly serves: 'all' | 'calls' | 'operations';
  /** Request headers handed to procedures, in any case. */
  readonly forwardHeaders: readonly string[];
  readonly maxConnections: number;
  /** Told of each connection that was closed because so many are open. */
  readonly onConnectionRefused: () => void;
  /** How long close() waits for requests in flight. */
  readonly shutdownGraceMs: number;
  /** Takes one line, without its end. */
  readonly warn: (message: string) => void;
}

/** Whether only this machine can reach a server that listens on `host`. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** What an operator should know at start, one line each (docs/protocol.md, "POST /rpc"). */
export function startupNotes(options: HttpOptions): string[] {
  if (options.corsOrigin !== '*' || !isLoopback(options.host)) return [];
  return [
    `cors origin is '*': any web page open in a browser on this machine may call ${options.host}; ` +
      'set a list of origins to stop that',
  ];
}

/**
 * Start-up mistakes that a transport would turn into something else: uWebSockets.js takes a port modulo
 * 65536, reads `:` and `*` in a path as patterns, and writes a header value as it is, line breaks included.
 *
 * @throws TypeError with one line that names the option
 */
export function assertHttpOptions(options: HttpOptions): void {
  const { port, path, corsOrigin } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`port must be an integer from 0 to 65535, got ${port}`);
  }
  if (!/^\/[\w.~!$&'()+,;=@%/-]*$/.test(path)) {
    throw new TypeError(
      `path must start with / and hold no :, *, ? or space, got ${JSON.stringify(path)}`,
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
