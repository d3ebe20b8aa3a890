import { connect, type Socket } from 'node:net';
import type { Target } from './request.ts';
import { type HttpResponse, readResponse } from './response.ts';

/** A connection is not used after so long: servers close idle ones, node:http after 5 s by default. */
const freshMs = 4000;

/**
 * A keep-alive connection with one request at a time. It is a small client, which takes little of the cores that it
 * shares with the server.
 */
export class Connection {
  readonly #socket: Socket;
  #usedAt = performance.now();
  #received: Buffer | undefined;
  #settle: { resolve(response: HttpResponse): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the server closed the connection')));
  }

  /** @param from the address it comes from: who tells callers apart by address sees another caller */
  static open(port: number, from = '127.0.0.1'): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: from });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.removeListener('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Whether the server will not close the connection while the next request is on its way. */
  get isFresh(): boolean {
    return this.#socket.writable && performance.now() - this.#usedAt < freshMs;
  }

  post(path: string, body: string | Uint8Array): Promise<HttpResponse> {
    return this.send({ path }, body);
  }

  /** @param body empty for a GET */
  send({ path, method, token }: Target, body: string | Uint8Array): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.#usedAt = performance.now();
      this.#settle = { resolve, reject };
      const lines = [`${method ?? 'POST'} ${path} HTTP/1.1`, 'host: 127.0.0.1'];
      if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
      if (method !== 'GET') {
        lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`);
      }
      const head = `${lines.join('\r\n')}\r\n\r\n`;
      if (typeof body === 'string') {
        this.#socket.write(head + body);
      } else {
        this.#socket.write(head);
        this.#socket.write(body);
      }
    });
  }

  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => {});
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    const all = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    try {
      const response = readResponse(all);
      this.#received = response === undefined ? all : undefined;
      if (response === undefined) return;
      const settle = this.#settle;
      this.#settle = undefined;
      settle?.resolve(response);
    } catch (error) {
      this.#end(error as Error);
    }
  }

  #end(error: Error): void {
    this.#settle?.reject(error);
    this.#settle = undefined;
  }
}
