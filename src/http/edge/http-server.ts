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

/** A dual-stack socket reports an IPv4 client by an IPv6 address. */
const mapped = /^(?:0000:0000:0000:0000:0000:ffff:|::ffff:)/;

/** The URL by which a client on this machine reaches a server that listens on `host`. */
function urlOf(scheme: Scheme, host: string, port: number, path: string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${scheme}://${authority}:${port}${path}`;
}

/** Where a server listens on a port. */
export function portAddress(
  scheme: Scheme,
  host: string,
  port: number,
  path: string,
): HttpServer['address'] {
  return { host, port, socket: undefined, url: urlOf(scheme, host, port, path) };
}

/** Where a server listens on a Unix socket. */
export function socketAddress(scheme: Scheme, socket: string, path: string): HttpServer['address'] {
  return {
    host: '',
    port: 0,
    socket,
    url: `${scheme}+unix://${encodeURIComponent(socket)}${path}`,
  };
}

/** The text of a peer's address, in the same form for both transports. */
export function addressText(address: string | undefined): string | undefined {
  if (address === undefined || address === '') return undefined;
  return address.replace(mapped, '');
}
