import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { toFrame, upgradeRequest } from './web-socket.ts';

/** A client that asks for streams, sees that they have begun, and then reads nothing until it is told to. */
export class Stall {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async overEvents(port: number, body: string): Promise<Stall> {
    const socket = await opened(port);
    const length = Buffer.byteLength(body);
    socket.write(
      `POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
    );
    return Stall.#behindFirst(socket, 'HTTP/1.1 200 OK\r\n');
  }

  static async overSocket(port: number, bodies: readonly string[]): Promise<Stall> {
    const socket = await opened(port);
    socket.write(upgradeRequest('/rpc'));
    const stall = await Stall.#behindFirst(socket, 'HTTP/1.1 101 ');
    socket.write(Buffer.concat(bodies.map(toFrame)));
    return stall;
  }

  static async #behindFirst(socket: Socket, answer: string): Promise<Stall> {
    const [first] = (await once(socket, 'data')) as [Buffer];
    if (!first.toString('latin1').startsWith(answer)) throw new Error(`gave ${first.toString()}`);
    socket.pause();
    return new Stall(socket);
  }

  /** Reads for a while, as fast as it can. */
  async read(ms: number): Promise<void> {
    this.#socket.on('data', () => {});
    this.#socket.resume();
    await pause(ms);
    this.#socket.pause();
  }

  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => {});
    this.#socket.destroy();
  }
}

async function opened(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}
