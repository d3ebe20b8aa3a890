import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOpenFiles } from './open-files.ts';
import type { Goal } from './request.ts';

/** How many of each kind besiege a server. */
export interface SiegeJob {
  readonly goal: Goal;
  /** Keep-alive connections that asked once and then say nothing. */
  readonly idle: number;
  /** Clients that send their head byte by byte, and never end it. */
  readonly slowHeads: number;
  /** Clients that ask for a large reply and do not read it. */
  readonly slowReaders: number;
  /** Of such a reply. */
  readonly replyBytes: number;
}

/** What one kind of besieger sends. */
interface Kind {
  readonly first: string;
  readonly reads: boolean;
  /** Sent again and again; undefined: nothing more. */
  readonly more: { readonly text: string; readonly everyMs: number } | undefined;
}

const head = 'POST /rpc HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n';

function kindsOf({ goal, slowReaders, slowHeads, idle, replyBytes }: SiegeJob): Kind[] {
  const large = JSON.stringify({ id: 1, method: 'large', params: { bytes: replyBytes } });
  const whole = (body: string) => `${head}content-length: ${body.length}\r\n\r\n${body}`;
  const call = whole(goal.exchanges[0]?.body ?? '');
  const many = (count: number, kind: Kind) => Array.from({ length: count }, () => kind);
  return [
    ...many(slowReaders, { first: whole(large), reads: false, more: undefined }),
    ...many(slowHeads, { first: head, reads: true, more: { text: 'x', everyMs: 1000 } }),
    ...many(idle, { first: call, reads: true, more: undefined }),
  ];
}

/** So many connect at a time: a full accept queue would be a test of the kernel. */
const connectAtOnce = 50;
const crowdMs = 10;
/** What is sent goes out in slices, as from clients that know nothing of each other. */
const tickMs = 10;
/** Up to so long stays away who was thrown out. */
const longestAwayMs = 1000;

/** Besieges until it is lifted: who is thrown out comes again. */
export class Siege {
  readonly #port: number;
  /** Each with its turn among the ticks. */
  readonly #sockets = new Map<Socket, { readonly kind: Kind; readonly turn: number }>();
  readonly #timer: NodeJS.Timeout;
  #lifted = false;
  #turns = 0;
  #ticks = 0;
  #heldInTicks = 0;

  private constructor(port: number) {
    this.#port = port;
    this.#timer = setInterval(() => this.#onTick(), tickMs);
  }

  /** @throws Error, one line, where this process may not open so many files */
  static async lay(job: SiegeJob): Promise<Siege> {
    const all = kindsOf(job);
    assertOpenFiles(all.length);
    const siege = new Siege(job.goal.port);
    while (all.length > 0) {
      const some = all.splice(0, connectAtOnce);
      await Promise.all(some.map((kind) => siege.#come(kind)));
      await sleep(crowdMs);
    }
    siege.#ticks = 0;
    siege.#heldInTicks = 0;
    return siege;
  }

  /** Those that were connected at a time, on average since the siege was laid. */
  get held(): number {
    return this.#ticks === 0 ? this.#sockets.size : this.#heldInTicks / this.#ticks;
  }

  lift(): void {
    this.#lifted = true;
    clearInterval(this.#timer);
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  #onTick(): void {
    this.#ticks++;
    this.#heldInTicks += this.#sockets.size;
    for (const [socket, { kind, turn }] of this.#sockets) {
      if (kind.more === undefined || !socket.writable) continue;
      if ((this.#ticks + turn) % (kind.more.everyMs / tickMs) === 0) socket.write(kind.more.text);
    }
  }

  /** Resolves when it is connected, or was turned away. */
  #come(kind: Kind): Promise<void> {
    if (this.#lifted) return Promise.resolve();
    return new Promise((resolve) => {
      const socket = connect({ port: this.#port, host: '127.0.0.1' });
      socket.on('connect', () => {
        this.#sockets.set(socket, { kind, turn: this.#turns++ });
        socket.write(kind.first);
        if (kind.reads) socket.resume();
        else socket.pause();
        resolve();
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        resolve();
        if (this.#lifted) return;
        setTimeout(() => void this.#come(kind), Math.random() * longestAwayMs);
      });
    });
  }
}
