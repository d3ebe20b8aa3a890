/** A server that listens, whichever transport carries it. */
export interface HttpServer {
  readonly transport: 'uws' | 'node';
  readonly address: {
    /** The address listened on, after names were resolved. */
    readonly host: string;
    /** The real one, where 0 was asked for. */
    readonly port: number;
    /** Of the JSON-RPC path, as a client on this machine writes it. */
    readonly url: string;
  };
  /** Open ones. */
  readonly connections: number;
  /**
   * Stops accepting, answers what is in flight (each reply tells its connection to close), and after
   * that, or after the grace, closes every connection. Idempotent.
   */
  close(): Promise<void>;
}

export type Scheme = 'http' | 'https';

/** An IPv4 client of a dual-stack socket is reported as an IPv6 one. */
const mapped = /^(?:0000:0000:0000:0000:0000:ffff:|::ffff:)/;

/** The URL a client on this machine uses for a server that listens on `host`. */
export function urlOf(scheme: Scheme, host: string, port: number, path: string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${scheme}://${authority}:${port}${path}`;
}

/** A peer's address as one text, whichever transport read it. */
export function addressText(address: string | undefined): string | undefined {
  if (address === undefined || address === '') return undefined;
  return address.replace(mapped, '');
}
