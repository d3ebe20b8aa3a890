import { connect, type Socket } from 'node:net';

/** Uploads take memory for bodies, which is shared out by address: those of the other callers must not pay for them. */
const uploadsFrom = '127.0.0.4';

/** Of one write: small enough that an answer meanwhile is seen. */
const piece = 256 * 1024;

/** One POST on a connection of its own, its body in as many steps as one likes. */
export class Upload {
  readonly #socket: Socket;
  readonly #body: Buffer;
  readonly #closed: Promise<void>;
  #sent = 0;
  #received = '';
  #isClosed = false;

  /** @param url where to; @param body all of it, of which perhaps not all goes out */
  constructor(url: string, body: Buffer) {
    const { hostname, port, pathname, host } = new URL(url);
    this.#body = body;
    this.#socket = connect({
      host: hostname,
      port: Number(port),
      localAddress: uploadsFrom,
      noDelay: true,
    });
    this.#socket.setEncoding('utf8').on('data', (text: string) => {
      this.#received += text;
    });
    // A reset is one way for the server to refuse; what came before it counts.
    this.#socket.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      this.#socket.on('close', () => {
        this.#isClosed = true;
        resolve();
      });
    });
    const lines = [
      `POST ${pathname} HTTP/1.1`,
      `host: ${host}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      'connection: close',
    ];
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  }

  /** All of the body has been given to the system. */
  get isWhole(): boolean {
    return this.#sent === this.#body.length;
  }

  /** Sends the body up to there; less where the server answers or closes meanwhile. */
  async send(end = this.#body.length): Promise<void> {
    while (this.#sent < end && this.#received === '' && !this.#isClosed) {
      const next = Math.min(end, this.#sent + piece);
      const written = new Promise<void>((resolve) => {
        this.#socket.write(this.#body.subarray(this.#sent, next), () => resolve());
      });
      await Promise.race([written, this.#closed]);
      this.#sent = next;
    }
  }

  /** The answer, once the server has closed behind it; undefined: none came. */
  async answer(): Promise<{ status: number; text: string } | undefined> {
    await this.#closed;
    const head = this.#received.indexOf('\r\n\r\n');
    if (head === -1) return undefined;
    const status = Number(this.#received.slice(9, 12));
    return { status, text: this.#received.slice(head + 4) };
  }

  /** Goes away, whatever is on its way. */
  async drop(): Promise<void> {
    this.#socket.destroy();
    await this.#closed;
  }
}
