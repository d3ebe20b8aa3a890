import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const opened = Buffer.from('\r\n\r\n');

/** A text message of a client: one frame, masked. */
export function toFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length > 65_535) throw new Error('the load sends short messages only');
  const isShort = payload.length < 126;
  const head = isShort
    ? Buffer.of(0x81, 0x80 | payload.length)
    : Buffer.of(0x81, 0x80 | 126, payload.length >> 8, payload.length & 255);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0))]);
}

export function upgradeRequest(path: string): string {
  const key = randomBytes(16).toString('base64');
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`;
}

/** A WebSocket that counts messages. It looks at their lengths only, and so takes little of the cores it shares. */
export class WebSocketLoad {
  readonly #socket: Socket;
  readonly #onMessages: (count: number) => void;
  #received: Buffer | undefined;

  private constructor(socket: Socket, onMessages: (count: number) => void) {
    this.#socket = socket;
    this.#onMessages = onMessages;
  }

  /** @param onMessages told how many have come together */
  static open(
    port: number,
    path: string,
    onMessages: (count: number) => void,
  ): Promise<WebSocketLoad> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.write(upgradeRequest(path));
      socket.once('data', (answer) => {
        const text = answer.toString('latin1');
        if (!text.startsWith('HTTP/1.1 101 ') || !answer.subarray(-4).equals(opened)) {
          reject(new Error(`no WebSocket: ${text}`));
          return;
        }
        const load = new WebSocketLoad(socket, onMessages);
        socket.on('data', (chunk) => load.#onData(chunk));
        resolve(load);
      });
    });
  }

  send(frames: Uint8Array): void {
    this.#socket.write(frames);
  }

  close(): void {
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => {});
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    const all = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    let at = 0;
    let count = 0;
    while (at + 4 <= all.length) {
      const short = all.readUInt8(at + 1);
      if (short === 127) throw new Error('the load reads short messages only');
      const start = at + (short === 126 ? 4 : 2);
      const end = start + (short === 126 ? all.readUInt16BE(at + 2) : short);
      if (end > all.length) break;
      at = end;
      count++;
    }
    this.#received = at === all.length ? undefined : all.subarray(at);
    if (count > 0) this.#onMessages(count);
  }
}
