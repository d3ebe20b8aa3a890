import type { Socket } from 'node:net';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import { addressText } from '../edge/request-head.ts';

/** A connection that is idle from time to time. */
export interface IdleConnection {
  readonly socket: Socket;
  /** Whose it is, once somebody has asked. */
  caller: string | undefined;
}

/** The connections of one server that have had a reply and wait for their next request, longest idle first. */
export class IdleConnections {
  readonly #all = new Set<IdleConnection>();

  add(connection: IdleConnection): void {
    this.#all.add(connection);
  }

  delete(connection: IdleConnection): void {
    this.#all.delete(connection);
  }

  /** Takes a socket out that becomes a WebSocket. */
  deleteSocket(socket: Socket): void {
    for (const one of this.#all) if (one.socket === socket) this.delete(one);
  }

  /**
   * Closes the connection that is idle for the longest time.
   *
   * @param caller only one of this caller; undefined: of anybody
   * @returns whether there was one
   */
  closeOne(caller: string | undefined): boolean {
    for (const one of this.#all) {
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
