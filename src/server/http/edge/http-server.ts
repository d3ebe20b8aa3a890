import { createServer } from 'node:net';
import { startTimer } from '../../../core/base/timer.ts';
import { v6Text } from './peer.ts';
/** A server that listens, on either transport. */
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

/**
 * The text of a peer's address, in the same form for both transports: node:http writes `::ffff:127.0.0.1` for an IPv4 address
 * that is mapped to IPv6, uWebSockets.js `0000:0000:0000:0000:0000:ffff:7f00:0001`.
 */
export function addressText(address: string | undefined): string | undefined {
  if (address === undefined || address === '') return undefined;
  return address.includes(':') ? (v6Text(address) ?? address) : address;
}

/** Requests whose handler was entered and whose reply is not written yet. A drain waits for them. */
export class InFlight {
  #count = 0;
  #draining = false;
  #wake: (() => void) | undefined;

  /** true once `drain` was called: replies then tell the client to close its connection. */
  get draining(): boolean {
    return this.#draining;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count === 0) this.#wake?.();
  }

  /** Resolves when nothing is in flight, or when the grace is over. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    let graceOver = false;
    const timer = startTimer(graceMs, () => {
      graceOver = true;
      this.#wake?.();
    });
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // The last reply may still be corked: promises run before the turn of the parser ends. In the rest of that turn
      // another request may come in on a connection that is still open.
      await new Promise<void>((resolve) => setImmediate(resolve));
    } while (this.#count > 0 && !graceOver);
    clearTimeout(timer);
  }
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

/** Finds out why listening on this address fails. uWebSockets.js says only that it fails. */
export function probe(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    // Where listening works now, whoever held the port has just released it.
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve('EADDRINUSE'));
    });
  });
}
