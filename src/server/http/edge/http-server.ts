import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** A server that listens: on uWebSockets.js or on node:http. */
export interface HttpServer {
  readonly transport: 'uws' | 'node';
  readonly address: {
    /** The address listened on, after a name was resolved; empty on a Unix socket. */
    readonly host: string;
    /** The port listened on, also where 0 was asked for; 0 on a Unix socket. */
    readonly port: number;
    /** The path of the Unix socket; undefined: it listens on a port. */
    readonly socket: string | undefined;
    /**
     * The URL of the JSON-RPC path, as a client on this machine writes it. On a Unix socket it is of the form
     * `http+unix://%2Frun%2Frpc.sock/rpc`.
     */
    readonly url: string;
  };
  /** Open connections. */
  readonly connections: number;
  /** Those among them that are WebSockets. */
  readonly sockets: number;
  /**
   * Stops accepting connections and answers the requests in flight; each reply tells its connection to close. After
   * that, or after the grace, closes every connection. Idempotent.
   */
  close(): Promise<void>;
}

export type Scheme = 'http' | 'https';

/** Where a server listens on a port. */
export function portAddress(
  scheme: Scheme,
  host: string,
  port: number,
  path: string,
): HttpServer['address'] {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable;
  return { host, port, socket: undefined, url: `${scheme}://${authority}:${port}${path}` };
}

/** Where a server listens on a Unix socket. */
export function socketAddress(scheme: Scheme, socket: string, path: string): HttpServer['address'] {
  const url = `${scheme}+unix://${encodeURIComponent(socket)}${path}`;
  return { host: '', port: 0, socket, url };
}

const advice: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use: stop what listens there, or choose another port`,
  EACCES: (host, port) =>
    `no permission to listen on port ${port} of ${host}: choose a port above 1023`,
  EADDRNOTAVAIL: (host) =>
    `this machine has no address ${host}: use 127.0.0.1 for this machine only, or 0.0.0.0 for all`,
  ENOTFOUND: (host) => `host ${host} does not resolve: check its spelling, or use an address`,
};

/** Makes an error at the start: one line that says what to do. `code` is the operating system's. */
export function listenError(code: string, host: string, port: number): Error & { code: string } {
  const say = advice[code];
  const message = say ? say(host, port) : `cannot listen on port ${port} of ${host}: ${code}`;
  return Object.assign(new Error(message), { code });
}

/** The operating system's code in an error of node:net or node:dns. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    // The resolver's "try again" counts as "not found": the start does not try again.
    return error.code === 'EAI_AGAIN' ? 'ENOTFOUND' : error.code;
  }
  return String(error);
}

/**
 * Listens on a port that nobody shares, to hold it or to see whether it is free.
 *
 * @throws Error with the `code` of the operating system and a one-line message
 */
export async function holdPort(host: string, port: number): Promise<Server> {
  try {
    const { lookup } = await import('node:dns/promises');
    const { address } = await lookup(host);
    const server = createServer().listen({ host: address, port, exclusive: true });
    await once(server, 'listening');
    return server;
  } catch (error) {
    throw listenError(codeOf(error), host, port);
  }
}

/** Gives a port back. Resolves when the port is free. */
export function givePort(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}
