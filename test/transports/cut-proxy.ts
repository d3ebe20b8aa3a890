import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { randomOf } from '../jsonrpc/bodies.ts';
import { seed } from '../seed.ts';
import type { WayIn } from './subjects/http.ts';

interface Piece {
  readonly bytes: Buffer;
  /** Turns of the event loop before it is sent: after one of them a server of this process has read what came before. */
  readonly turns: number;
}

/** Cuts one direction of one connection: what was read at once goes on in these pieces. */
type Cut = (read: Buffer) => Iterable<Piece>;

export interface Cutting {
  readonly name: string;
  /** For one direction of a new connection. */
  begin(): Cut;
}

let reads = 0;

/** Two pieces, of which the first is a byte longer each time, over all connections: many messages meet each offset. */
const atEachOffset: Cutting = {
  name: 'cut in two at each offset',
  begin: () =>
    function* (read) {
      const end = 1 + (reads++ % read.length);
      yield { bytes: read.subarray(0, end), turns: 0 };
      if (end < read.length) yield { bytes: read.subarray(end), turns: 1 };
    },
};

export const atRandom: Cutting = {
  name: `cut at random, seed ${seed}`,
  begin() {
    const random = randomOf(seed);
    return function* (read) {
      for (let start = 0; start < read.length; ) {
        const longest = [4, 4, 64, 20_000][random(4)] ?? 1;
        const end = start + 1 + random(longest);
        yield { bytes: read.subarray(start, end), turns: random(4) };
        start = end;
      }
    };
  },
};

export const cuttings: readonly Cutting[] = [atEachOffset, atRandom];

/** Gives the head of each request of HTTP in one piece, and cuts the rest. */
function exceptHeads(cut: Cut): Cut {
  let held = Buffer.alloc(0);
  let body = 0;
  return function* (read) {
    for (let rest = read; rest.length > 0; ) {
      if (body > 0) {
        const part = rest.subarray(0, body);
        body -= part.length;
        rest = rest.subarray(part.length);
        yield* cut(part);
        continue;
      }
      held = Buffer.concat([held, rest]);
      const end = held.indexOf('\r\n\r\n') + 4;
      if (end < 4) return;
      const head = held.subarray(0, end);
      rest = held.subarray(end);
      held = Buffer.alloc(0);
      body = bodyBytes(head.toString('latin1'));
      yield { bytes: head, turns: 1 };
    }
  };
}

/** What belongs to a request behind its head; behind an upgrade, everything does. */
function bodyBytes(head: string): number {
  if (/^upgrade:/im.test(head)) return Number.POSITIVE_INFINITY;
  return Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
}

/** Stands between clients and a server, and passes both directions on in pieces. */
export class CutProxy {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param keepsHeads whether the head of a request goes on in one piece */
  static async open(target: number, cutting: Cutting, keepsHeads = false): Promise<CutProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const own = connect({
        port: target,
        host: '127.0.0.1',
        allowHalfOpen: true,
        noDelay: true,
      });
      const cut = cutting.begin();
      pass(client, own, keepsHeads ? exceptHeads(cut) : cut);
      pass(own, client, cutting.begin());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new CutProxy(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes nobody new. Connections end with their client or server. */
  close(): void {
    this.#server.close();
  }
}

/** Bytes that wait to be sent on, at most. A socket that is not paused loses nothing that came before a reset. */
const mostWaiting = 64 * 1024;

/** The end of one side reaches the other behind all that it sent. */
function pass(from: Socket, to: Socket, cut: Cut): void {
  let sent = Promise.resolve();
  let waiting = 0;
  const send = async (read: Buffer): Promise<void> => {
    for (const { bytes, turns } of cut(read)) {
      for (let i = 0; i < turns; i++) await nextTurn();
      if (to.destroyed) return;
      await new Promise((resolve) => to.write(bytes, resolve));
    }
    waiting -= read.length;
    if (waiting <= mostWaiting) from.resume();
  };
  from.on('data', (read: Buffer) => {
    waiting += read.length;
    if (waiting > mostWaiting) from.pause();
    sent = sent.then(() => send(read));
  });
  from.on('end', () => void sent.then(() => to.end()));
  from.on('error', () => {}); // 'close' comes behind it
  from.on('close', () => void sent.then(() => to.destroy()));
}

/** Whether the binary of uWebSockets.js answers 505 if the first line of a request comes in pieces. */
const needsHeads = (await loadUws()).fault !== undefined;

/** A way in whose stream is cut. */
export function cutWay<Way extends WayIn>(way: Way, cutting: Cutting): Way {
  return {
    ...way,
    name: `${way.name}, ${cutting.name}`,
    async put(service, options) {
      const listening = await way.put(service, options);
      const keepsHeads = way.server === 'uws' && needsHeads;
      const proxy = await CutProxy.open(listening.port, cutting, keepsHeads);
      return {
        port: proxy.port,
        close() {
          proxy.close();
          return listening.close();
        },
      };
    },
  };
}
