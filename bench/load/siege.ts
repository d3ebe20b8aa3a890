import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOpenFiles } from './open-files.ts';
import type { Goal } from './request.ts';

/** How many besiegers of each kind a server has. */
export interface SiegeJob {
  readonly goal: Goal;
  /** Keep-alive connections that send one request and then nothing. */
  readonly idle: number;
  /** Clients that send their head byte by byte, and never end it. */
  readonly slowHeads: number;
  /** Clients that request a large reply and do not read it. */
  readonly slowReaders: number;
  /** Size of that reply. */
  readonly replyBytes: number;
}

/** The requests of one kind of besieger. */
interface Kind {
  readonly first: string;
  readonly reads: boolean;
  /** Text to send again and again; undefined: nothing more is sent. */
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

/** How many connect at a time: with a full accept queue, the kernel would be tested. */
const connectAtOnce = 50;
const crowdMs = 10;
/** How often a slice of the besiegers sends: clients that do not know of each other do not send at once. */
const tickMs = 10;
/** A besieger that was thrown out stays away for a random time up to this. */
const longestAwayMs = 1000;

/** Besieges a server until the siege is lifted. A besieger that is thrown out connects again. */
export class Siege {
  readonly #port: number;
  /** The sockets, each with the tick at which it sends. */
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

  /** How many besiegers were connected on average since the siege was laid. */
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

  /** Connects a besieger. Resolves when it is connected or was refused. */
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
