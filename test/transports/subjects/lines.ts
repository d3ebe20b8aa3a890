import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LineService, serveLines } from '../../../examples/lines.ts';
import type { Connection, Subject } from '../subject.ts';
import { listenWith } from './http.ts';
import { piecesOf } from './pieces.ts';

/** The lines of examples/, which its programs serve over stdin and stdout, and over TCP. */
export const lines: Subject = {
  name: 'lines over TCP (examples/lines.ts)',
  can: ['messages', 'reads-on', 'pieces', 'sees-leaving'],
  carries: (message) =>
    !message.includes('\n' as never) && Buffer.from(message).toString().trim() !== '',
  async serve(service, { maxMessageBytes }) {
    const open = new Set<LineService>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket: Socket) => {
      const { remoteAddress } = socket;
      const served = serveLines({
        input: socket,
        output: socket,
        answer: (line, signal) => service.dispatchText(line, { signal, remoteAddress }),
        maxLineBytes: maxMessageBytes,
        maxInFlight: 64,
      });
      open.add(served);
      void served.done.then(() => {
        open.delete(served);
        socket.end();
      });
    });
    const { port, close } = await listenWith(server, () => {
      for (const served of open) served.stop();
    });
    return { connect: () => LineConnection.open(port), close };
  },
};

/** node:readline ends lines at U+2028 too, since Node 24. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let rest = '';
  for await (const text of socket.setEncoding('utf8')) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

class LineConnection implements Connection {
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#lines = linesOf(socket);
    socket.on('error', () => {}); // it was left
  }

  static async open(port: number): Promise<LineConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new LineConnection(socket);
  }

  async send(message: string | Uint8Array, _facts = {}, pieces = 1): Promise<void> {
    const bytes = Buffer.concat([Buffer.from(message as Uint8Array), Buffer.from('\n')]);
    for (const piece of piecesOf(bytes, pieces)) {
      await new Promise((resolve) => this.#socket.write(piece, resolve));
      if (pieces > 1) await nextTurn();
    }
  }

  sendPart(message: string): Promise<void> {
    return new Promise((resolve) => this.#socket.write(message, () => resolve()));
  }

  async receive(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('closed');
    return value;
  }

  /** By a reset: the end of what a client sends is not the end of its interest in the answers. */
  leave(): void {
    this.#socket.resetAndDestroy();
  }
}
