import { isUtf8 } from 'node:buffer';
import { createServer } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createUpgrades } from '../../../src/server/http/node/upgrade.ts';
import { frame, opcodes, RawSocket } from '../../http/socket/raw-socket.ts';
import type { Connection, SentFacts, Subject } from '../subject.ts';
import { headersOf, listenWith, optionsOf, type Put, type WayIn } from './http.ts';
import { piecesOf } from './pieces.ts';

/**
 * One caller. What a caller says beside its messages it says with its upgrade, so there is a socket for each set of
 * facts, and the answers of all of them come together.
 */
class SocketCaller implements Connection {
  readonly #port: number;
  readonly #sockets = new Map<string, Promise<RawSocket>>();
  readonly #answers: string[] = [];
  #wake: (() => void) | undefined;
  #left = 0;

  constructor(port: number) {
    this.#port = port;
  }

  static async open(port: number): Promise<SocketCaller> {
    const caller = new SocketCaller(port);
    await caller.#socketFor({});
    return caller;
  }

  async send(message: string | Uint8Array, facts: SentFacts = {}, pieces = 1): Promise<void> {
    const socket = await this.#socketFor(facts);
    const bytes = Buffer.from(message as Uint8Array);
    const parts = pieces === 1 ? [bytes] : [...piecesOf(bytes, pieces)];
    // Text and binary messages are the same here. What is no UTF-8 can't be text.
    const first = isUtf8(bytes) && bytes.length % 2 === 0 ? opcodes.text : opcodes.binary;
    for (const [i, part] of parts.entries()) {
      const opcode = i === 0 ? first : opcodes.rest;
      await socket.send(part, { opcode, isLast: i === parts.length - 1 });
      if (pieces > 1) await nextTurn();
    }
  }

  async sendPart(message: string): Promise<void> {
    const { client } = await this.#socketFor({});
    await client.write(frame(message).subarray(0, -1));
  }

  async receive(): Promise<string> {
    for (;;) {
      const answer = this.#answers.shift();
      if (answer !== undefined) return answer;
      if (this.#left === this.#sockets.size) throw new Error('closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  leave(): void {
    for (const socket of this.#sockets.values()) void socket.then((one) => one.destroy());
  }

  #socketFor(facts: SentFacts): Promise<RawSocket> {
    const key = JSON.stringify(facts);
    let socket = this.#sockets.get(key);
    if (socket === undefined) {
      socket = RawSocket.connect(this.#port, headersOf(facts));
      this.#sockets.set(key, socket);
      void socket.then((one) => this.#read(one)).catch(() => {});
    }
    return socket;
  }

  async #read(socket: RawSocket): Promise<void> {
    try {
      for (;;) {
        this.#answers.push(await socket.receive());
        this.#wake?.();
      }
    } catch {
      this.#left++;
      this.#wake?.();
    }
  }
}

export function socketSubject({ name, put, ...server }: WayIn): Subject {
  return {
    name: `WebSocket on ${name}`,
    ...server,
    can: ['messages', 'metadata', 'counts-bodies', 'pieces', 'sees-leaving'],
    carries: () => true,
    async serve(service, options) {
      const listening = await put(service, optionsOf(options));
      return {
        connect: () => SocketCaller.open(listening.port),
        close: () => listening.close(),
      };
    },
  };
}

const mounted: Put = (service, options) => {
  const upgrades = createUpgrades(service, options);
  return listenWith(createServer().on('upgrade', upgrades.handle), () => upgrades.close());
};

/** A server of node:http that is somebody else's. */
export const mountedSocket: WayIn = { name: 'upgradeHandler()', put: mounted };
