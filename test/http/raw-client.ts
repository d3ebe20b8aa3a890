import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';

export interface RawResponse {
  readonly status: number;
  /** In their order, names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export function header(response: RawResponse, name: string): string | undefined {
  return response.headers.find(([key]) => key === name)?.[1];
}

/**
 * More than the sockets of both sides hold: Linux lets them grow to 32 MiB and 4 MiB, as it sees fit. A reply
 * of so many bytes is never whole before its client reads.
 */
export const neverHeld = 40 * 1024 * 1024;
/** The same over a Unix socket. It holds 208 KiB, where nobody has set that higher, and never grows. */
export const neverHeldLocally = 4 * 1024 * 1024;

let paths = 0;

/** Where a server of this process may listen that is to be reached by a Unix socket. */
export function socketPath(): string {
  return join(tmpdir(), `tandem-${process.pid}-${paths++}.sock`);
}

/** What a JSON-RPC reply may hold; a test asserts which of it does. */
interface Replied {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result: string;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export function json(response: RawResponse): Replied {
  return JSON.parse(response.body.toString()) as Replied;
}

/** A client that writes bytes as they are and reads replies one by one: nothing is hidden from a test. */
export class RawClient {
  readonly socket: Socket;
  closed = false;
  readonly #changed = new EventEmitter();
  /** The error that closed it. */
  #reason: string | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  /** How long the reply is that comes in, once its head has told. */
  #wanted = 0;

  /**
   * @param port or the path of a Unix socket
   * @param ca PEM text of who signed the server's certificate; undefined: no TLS
   * @param localAddress the caller's own: each one in 127.0.0.0/8 is another caller
   */
  constructor(port: number | string, host = '127.0.0.1', ca?: string, localAddress?: string) {
    const from = localAddress === undefined ? {} : { localAddress };
    const at = typeof port === 'string' ? { path: port } : { port, host, ...from };
    this.socket =
      ca === undefined ? connect({ ...at, noDelay: true }) : connectSecurely({ ...at, ca });
    this.socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      this.#changed.emit('change');
    });
    // A reset is one way for a server to close; what came before it counts.
    this.socket.on('error', ({ message }) => {
      this.#reason = message;
    });
    this.socket.on('close', () => {
      this.closed = true;
      this.#changed.emit('change');
    });
  }

  /** Everything received and not yet taken as a reply. */
  get received(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  /** Resolves when the bytes were handed to the system. */
  write(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** @param bodyless the request was a HEAD */
  async response(bodyless = false): Promise<RawResponse> {
    for (;;) {
      // Not before it is whole: a large reply would be joined anew for each of its chunks.
      if (this.#size >= this.#wanted || this.closed) {
        const parsed = this.#parse(bodyless);
        if (parsed !== undefined) return parsed;
      }
      if (this.closed) {
        const received = JSON.stringify(this.received.toString().slice(0, 200));
        throw new Error(`closed with ${received}: ${this.#reason ?? 'no error'}`);
      }
      await once(this.#changed, 'change');
    }
  }

  async ask(bytes: string | Uint8Array, bodyless = false): Promise<RawResponse> {
    await this.write(bytes);
    return this.response(bodyless);
  }

  /** Takes bytes off the front of what was received. */
  take(bytes: number): Buffer {
    const { received } = this;
    this.#chunks = [received.subarray(bytes)];
    this.#size -= bytes;
    return received.subarray(0, bytes);
  }

  /** Resolves when more was received, or the connection has closed. */
  async change(): Promise<void> {
    await once(this.#changed, 'change');
  }

  /** Resolves when the server has closed the connection; what it sent before is in `received`. */
  async untilClosed(): Promise<void> {
    while (!this.closed) await once(this.#changed, 'change');
  }

  destroy(): void {
    this.socket.destroy();
  }

  #parse(bodyless: boolean): RawResponse | undefined {
    const { received } = this;
    const end = received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [first = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(first.split(' ')[1]);
    const headers = lines.map((line): readonly [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
    const bare = bodyless || status === 100 || status === 101 || status === 204 || status === 304;
    const length = headers.find(([name]) => name === 'content-length')?.[1];
    const start = end + 4;
    // Without a length the body goes on to the end of the connection.
    if (!bare && length === undefined && !this.closed) return undefined;
    const bytes = bare ? 0 : length === undefined ? received.length - start : Number(length);
    this.#wanted = start + bytes;
    if (received.length < this.#wanted) return undefined;
    const body = received.subarray(start, this.#wanted);
    this.#chunks = [received.subarray(this.#wanted)];
    this.#size -= this.#wanted;
    this.#wanted = 0;
    return { status, headers, body };
  }
}

/** A POST of `body` to /rpc; `headers` replaces or (by undefined) takes away the usual ones. */
export function post(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | undefined>> = {},
  path = '/rpc',
): Buffer {
  const all: Record<string, string | undefined> = {
    host: 'test',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    Buffer.from(body as Uint8Array),
  ]);
}

/** A request without a body. */
export function request(method: string, path: string, lines: readonly string[] = []): string {
  return `${method} ${path} HTTP/1.1\r\nhost: test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
}

export function rpc(method: string, params?: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}
