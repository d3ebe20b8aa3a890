import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { post } from '../raw-client.ts';

/** What an event may hold; a test asserts which of it does. */
export interface EventData {
  readonly jsonrpc: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly subscription: unknown; readonly result: unknown };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export const accepting = { accept: 'text/event-stream' } as const;

/** A client that reads event streams off a socket, one reply after the other, and takes the chunks apart itself. */
export class EventClient {
  readonly socket: Socket;
  closed = false;
  head = '';
  /** The last chunk of the reply has come. */
  isOver = false;
  #bytes = Buffer.alloc(0);
  #body: string[] = [];
  #decoder = new StringDecoder();
  /** Bytes of the current chunk that are still to come. */
  #left = 0;
  /** Blocks that `event` has not taken yet, and the begin of another one. */
  #blocks: string[] = [];
  #rest = '';
  readonly #changed = new EventEmitter();

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#read();
      this.#changed.emit('change');
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
      this.#changed.emit('change');
    });
  }

  /** Sends a request; what came of the reply before is forgotten. */
  send(body: string, headers: Readonly<Record<string, string | undefined>> = {}): void {
    this.write(post(body, { ...accepting, ...headers }));
  }

  write(bytes: string | Uint8Array): void {
    this.#begin();
    this.socket.write(bytes);
  }

  /** Reads the reply that follows on the connection. */
  nextReply(): void {
    this.#begin();
    this.#read();
  }

  /** What the body of the reply holds so far. */
  get text(): string {
    this.#body = [this.#body.join('')];
    return this.#body[0] ?? '';
  }

  get status(): number {
    return Number(this.head.split(' ')[1]);
  }

  header(name: string): string | undefined {
    const line = this.head.split('\r\n').find((one) => one.toLowerCase().startsWith(`${name}:`));
    return line?.slice(name.length + 1).trim();
  }

  /** The next event, without comments. */
  async event(): Promise<EventData> {
    for (;;) {
      const block = this.#blocks.shift();
      if (block === undefined) {
        if (this.isOver || this.closed) this.#fail('no event');
        await this.#change();
      } else if (block !== ':') {
        return dataOf(block);
      }
    }
  }

  /** All events that are still to come. */
  async events(): Promise<EventData[]> {
    await this.end();
    const blocks = this.#blocks.filter((block) => block !== ':');
    this.#blocks = [];
    assert.equal(this.#rest, '');
    return blocks.map(dataOf);
  }

  /** Resolves when `isThere` of the text so far. */
  async until(isThere: (text: string) => boolean): Promise<void> {
    while (!isThere(this.text)) {
      if (this.isOver || this.closed) this.#fail('the reply is over');
      await this.#change();
    }
  }

  /** Resolves with the whole body when its end has come. */
  async end(): Promise<string> {
    while (!this.isOver) {
      if (this.closed) this.#fail(`closed with ${this.head}`);
      await this.#change();
    }
    return this.text;
  }

  async untilClosed(): Promise<void> {
    while (!this.closed) await this.#change();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Shows the text only where it fails: to join it for each piece that comes takes most of the time of a large reply. */
  #fail(what: string): never {
    assert.fail(`${what}, behind ${this.text.slice(-300)}`);
  }

  async #change(): Promise<void> {
    await once(this.#changed, 'change');
  }

  #begin(): void {
    this.head = '';
    this.isOver = false;
    this.#body = [];
    this.#decoder = new StringDecoder();
    this.#left = 0;
    this.#blocks = [];
    this.#rest = '';
  }

  #read(): void {
    if (this.head === '') {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      this.head = this.#bytes.subarray(0, end).toString('latin1');
      this.#bytes = this.#bytes.subarray(end + 4);
      if (this.header('transfer-encoding') === undefined) {
        const length = this.header('content-length');
        this.#left = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
        if (this.status === 204) this.#left = 0;
      }
    }
    if (this.header('transfer-encoding') === undefined) {
      this.#take();
      this.isOver = this.#left === 0;
    } else {
      this.#readChunks();
    }
  }

  #readChunks(): void {
    while (!this.isOver) {
      if (this.#left > 0) {
        this.#take();
        if (this.#left > 0) return;
      }
      const [line, size] =
        /^(?:\r\n)?([0-9a-f]+)\r\n/.exec(this.#bytes.toString('latin1', 0, 20)) ?? [];
      if (line === undefined) return;
      this.#left = Number.parseInt(size ?? '', 16);
      if (this.#left > 0) {
        this.#bytes = this.#bytes.subarray(line.length);
        continue;
      }
      if (this.#bytes.length < line.length + 2) return;
      assert.equal(this.#bytes.subarray(line.length, line.length + 2).toString(), '\r\n');
      this.#bytes = this.#bytes.subarray(line.length + 2);
      this.isOver = true;
    }
  }

  #take(): void {
    const piece = this.#bytes.subarray(0, this.#left);
    const text = this.#decoder.write(piece);
    this.#body.push(text);
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    this.#blocks.push(...blocks);
    this.#bytes = this.#bytes.subarray(piece.length);
    this.#left -= piece.length;
  }
}

function dataOf(block: string): EventData {
  assert.match(block, /^data: [^\n]*$/);
  return JSON.parse(block.slice('data: '.length)) as EventData;
}
