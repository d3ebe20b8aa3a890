import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Lifetime } from '../harness.ts';

/** A way to a server of NATS that can be cut for one client, while others keep theirs. */
export class CutLine {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#onSocket(socket));
  readonly #port: number;
  #isCut = false;

  private constructor(port: number) {
    this.#port = port;
  }

  /** @param port of the server */
  static async lay(lifetime: Lifetime, port: number): Promise<CutLine> {
    const line = new CutLine(port);
    await once(line.#server.listen(0, '127.0.0.1'), 'listening');
    lifetime.after(async () => {
      line.cut();
      line.#server.close();
    });
    return line;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  #onSocket(near: Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on('error', () => {}); // it was cut
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}
