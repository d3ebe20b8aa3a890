import type { Socket } from 'node:net';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import { addressText } from '../edge/request-head.ts';

/** A connection that is idle from time to time. The list links it both ways, so that it leaves without a search. */
export interface IdleConnection {
  readonly socket: Socket;
  before?: IdleConnection | undefined;
  after?: IdleConnection | undefined;
  /** Whose it is, once somebody has asked. */
  caller?: string;
}

/** The connections of one server that have had a reply and wait for their next request, longest idle first. */
export class IdleConnections {
  #first: IdleConnection | undefined;
  #last: IdleConnection | undefined;

  /** @param connection not in the list */
  add(connection: IdleConnection): void {
    connection.before = this.#last;
    if (this.#last === undefined) this.#first = connection;
    else this.#last.after = connection;
    this.#last = connection;
  }

  /** Idempotent. */
  delete(connection: IdleConnection): void {
    const { before, after } = connection;
    if (before !== undefined) before.after = after;
    else if (this.#first === connection) this.#first = after;
    else return;
    if (after === undefined) this.#last = before;
    else after.before = before;
    connection.before = undefined;
    connection.after = undefined;
  }

  /** Takes a socket out that becomes a WebSocket. */
  deleteSocket(socket: Socket): void {
    for (let one = this.#first; one !== undefined; one = one.after) {
      if (one.socket === socket) {
        this.delete(one);
        return;
      }
    }
  }

  /**
   * Closes the connection that is idle for the longest time.
   *
   * @param caller only one of this caller; undefined: of anybody
   * @returns whether there was one
   */
  closeOne(caller: string | undefined): boolean {
    for (let one = this.#first; one !== undefined; one = one.after) {
      if (caller !== undefined) {
        one.caller ??= addressKey(addressText(one.socket.remoteAddress));
        if (one.caller !== caller) continue;
      }
      this.delete(one);
      one.socket.destroy();
      return true;
    }
    return false;
  }
}
