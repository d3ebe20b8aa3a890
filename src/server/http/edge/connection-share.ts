import type { Worker } from 'node:worker_threads';
import { clockMs } from '../../../core/base/clock.ts';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import { type Callers, type Denial, Share } from '../../../core/dispatch/share.ts';
import { startOwnThread } from '../../../core/modules/own-thread.ts';
import type { ConnectionCounts } from './connection-count.ts';
import type { ListeningServer } from './http-server.ts';

/** A connection belongs to its address: nobody has signed in yet. */
export const byAddress: Callers<string | undefined> = { keyOf: addressKey, weightOf: () => 1 };

/** How old a count of the connections may be before it is taken again, milliseconds. */
const freshMs = 1000;

/**
 * Divides the connections among addresses for a server that is told the address of a connection when it opens, but not when it
 * closes. As soon as half of the connections are taken, a thread reads from the system who has how many, at most once a second.
 * That takes about 1 ms for 1000 connections of the whole machine. On systems that do not say it, and on a Unix socket, everybody
 * gets what there is.
 */
export class CountedConnections {
  readonly #limit: number;
  readonly #server: Pick<ListeningServer, 'address' | 'connections'>;
  #share: Share<string | undefined> | undefined;
  #thread: Worker | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(limit: number, server: Pick<ListeningServer, 'address' | 'connections'>) {
    this.#limit = limit;
    this.#server = server;
  }

  /**
   * Why the address of a connection may not have it; undefined: it may. The server counts it already.
   *
   * @param addressOf asked only where connections are scarce
   */
  denial(addressOf: () => string | undefined): Denial | undefined {
    const open = this.#server.connections - 1;
    if (open >= this.#limit) return 'full';
    const isTold = process.platform === 'linux' && this.#server.address.socket === undefined;
    if (open < this.#limit / 2 || !isTold) {
      this.#share = undefined;
      return undefined;
    }
    // Until they are counted, those that are open are of an address that nobody knows.
    this.#share ??= this.#shareOf(new Map([[undefined, open]]), open);
    if (clockMs() - this.#askedAt >= freshMs) this.#ask();
    const share = this.#share;
    const scope = addressOf();
    const denial = share.denial(scope);
    if (denial === undefined) {
      share.take({ scope, amount: 1 });
      return undefined;
    }
    // The count does not tell whose connections have closed since: until the next count, their room goes to the first callers.
    return share.used > open + 0.5 ? undefined : denial;
  }

  close(): void {
    void this.#thread?.terminate();
  }

  #ask(): void {
    this.#askedAt = clockMs();
    try {
      this.#thread ??= this.#start();
    } catch {
      // The system gives this process no thread now. The last count is used until the next time.
      return;
    }
    this.#thread.postMessage(this.#server.address.port);
  }

  #start(): Worker {
    const thread = startOwnThread('src/server/http/edge/connection-count.ts');
    thread.on('message', (counts: ConnectionCounts) => this.#onCounts(counts));
    // Another thread is asked the next time.
    thread.on('error', () => {
      this.#thread = undefined;
    });
    return thread;
  }

  #onCounts(counts: ConnectionCounts): void {
    if (this.#share === undefined || counts === undefined || counts.size === 0) return;
    this.#share = this.#shareOf(counts, this.#server.connections);
  }

  /** The system also counts connections of other processes at the same port. */
  #shareOf(counts: ReadonlyMap<string | undefined, number>, open: number) {
    const share = new Share(this.#limit, byAddress);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    for (const [scope, count] of counts) share.take({ scope, amount: (count * open) / total });
    return share;
  }
}
