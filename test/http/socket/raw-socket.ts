import { once } from 'node:events';
import { randomOf } from '../../jsonrpc/bodies.ts';
import { seed } from '../../seed.ts';
import { RawClient as Client, type RawClient, type RawResponse, request } from '../raw-client.ts';

const random = randomOf(seed);

export const opcodes = { rest: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly isLast: boolean;
}

export interface FrameOptions {
  readonly opcode?: number;
  readonly isLast?: boolean;
  /** Whether the payload is masked, which a client must do. */
  readonly isMasked?: boolean;
  /** The reserved bits, as they stand in the first byte. */
  readonly reserved?: number;
  /** What the head says of the length; the payload may be shorter. */
  readonly length?: number;
}

/** A frame as RFC 6455, 5.2 draws it. */
export function frame(payload: string | Uint8Array, options: FrameOptions = {}): Buffer {
  const { opcode = opcodes.text, isLast = true, isMasked = true, reserved = 0 } = options;
  const bytes = Buffer.from(payload as Uint8Array);
  const { length = bytes.length } = options;
  const first = (isLast ? 0x80 : 0) | reserved | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  let head: Buffer;
  if (length < 126) {
    head = Buffer.from([first, maskBit | length]);
  } else if (length < 65_536) {
    head = Buffer.from([first, maskBit | 126, length >> 8, length & 255]);
  } else {
    head = Buffer.alloc(10);
    head.set([first, maskBit | 127]);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  if (!isMasked) return Buffer.concat([head, bytes]);
  const mask = Buffer.alloc(4).map(() => random(256));
  // A loop, in a copy that is this function's own: some payloads have megabytes.
  for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return Buffer.concat([head, mask, bytes]);
}

const key = 'dGhlIHNhbXBsZSBub25jZQ==';

/** The headers of a sound upgrade; `headers` replaces or (by undefined) takes away some. */
export function upgradeRequest(
  headers: Readonly<Record<string, string | undefined>> = {},
  path = '/rpc',
  method = 'GET',
): string {
  const all: Record<string, string | undefined> = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined);
  return request(
    method,
    path,
    lines.map(([name, value]) => `${name}: ${value}`),
  );
}

/** A WebSocket that writes bytes as they are and reads frames one by one: nothing is hidden from a test. */
export class RawSocket {
  readonly client: RawClient;
  /** What the upgrade was answered with. */
  readonly response: RawResponse;
  /** Pings are answered, as every client must. */
  answersPings = true;

  private constructor(client: RawClient, response: RawResponse) {
    this.client = client;
    this.response = response;
  }

  /** @throws where the upgrade is refused */
  static async open(
    client: RawClient,
    headers?: Readonly<Record<string, string | undefined>>,
  ): Promise<RawSocket> {
    const response = await client.ask(upgradeRequest(headers));
    if (response.status !== 101) {
      throw new Error(`refused with ${response.status}: ${response.body.toString()}`);
    }
    return new RawSocket(client, response);
  }

  static async connect(
    port: number,
    headers?: Readonly<Record<string, string | undefined>>,
  ): Promise<RawSocket> {
    const client = new Client(port);
    await Promise.race([once(client.socket, 'connect'), once(client.socket, 'close')]);
    return RawSocket.open(client, headers);
  }

  send(payload: string | Uint8Array, options?: FrameOptions): Promise<void> {
    return this.client.write(frame(payload, options));
  }

  /** The next frame; control frames too. */
  async frame(): Promise<Frame> {
    for (;;) {
      const parsed = this.#parse();
      if (parsed !== undefined) return parsed;
      if (this.client.closed) throw new Error('closed');
      await this.client.change();
    }
  }

  /** The next message as text. Messages of a server that sends fragments would fail here. */
  async receive(): Promise<string> {
    for (;;) {
      const { opcode, payload, isLast } = await this.frame();
      if (opcode === opcodes.ping) {
        if (this.answersPings) await this.send(payload, { opcode: opcodes.pong });
        continue;
      }
      if (opcode === opcodes.pong) continue;
      if (opcode !== opcodes.text || !isLast) throw new Error(`a frame of opcode ${opcode}`);
      return payload.toString();
    }
  }

  async ask(payload: string | Uint8Array, options?: FrameOptions): Promise<string> {
    await this.send(payload, options);
    return this.receive();
  }

  /** The code with which the server closes; 1006 where it does so without a close frame. What comes before is lost. */
  async closeCode(): Promise<number> {
    try {
      for (;;) {
        const { opcode, payload } = await this.frame();
        if (opcode !== opcodes.close) continue;
        await this.send(payload, { opcode: opcodes.close });
        return payload.length < 2 ? 1005 : payload.readUInt16BE();
      }
    } catch {
      return 1006;
    }
  }

  destroy(): void {
    this.client.destroy();
  }

  #parse(): Frame | undefined {
    const { received } = this.client;
    if (received.length < 2) return undefined;
    const first = received.readUInt8(0);
    let length = received.readUInt8(1);
    let start = 2;
    if (length === 126) {
      if (received.length < 4) return undefined;
      length = received.readUInt16BE(2);
      start = 4;
    } else if (length === 127) {
      if (received.length < 10) return undefined;
      length = Number(received.readBigUInt64BE(2));
      start = 10;
    }
    if (received.length < start + length) return undefined;
    const payload = Buffer.from(this.client.take(start + length).subarray(start));
    return { opcode: first & 15, payload, isLast: (first & 0x80) !== 0 };
  }
}
