import { readFileSync } from 'node:fs';
import { clockMs } from '../../../core/base/clock.ts';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import { type Callers, type Denial, Share } from '../../../core/dispatch/share.ts';

/** A connection belongs to its address: nobody has signed in yet. */
export const byAddress: Callers<string | undefined> = { keyOf: addressKey, weightOf: () => 1 };

/** How old a count of the connections may be before it is taken again, milliseconds. */
const freshMs = 1000;

/**
 * Divides the connections among addresses for a server that is told the address of a connection when it opens, but not when it
 * closes. As soon as half of the connections are taken, it reads from the system who has how many. That takes about 1 ms for 1000
 * connections, at most once a second while they are scarce. On systems that do not say it, everybody gets what there is.
 */
export class CountedConnections {
  readonly #limit: number;
  readonly #port: () => number;
  #share: Share<string | undefined> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  /** @param port at which this process listens, perhaps with others */
  constructor(limit: number, port: () => number) {
    this.#limit = limit;
    this.#port = port;
  }

  /**
   * Why an address may not have one more connection; undefined: it may.
   *
   * @param addressOf asked only where connections are scarce
   * @param open connections of this server, without this one
   */
  denial(addressOf: () => string | undefined, open: number): Denial | undefined {
    if (open >= this.#limit) return 'full';
    if (open < this.#limit / 2) {
      this.#share = undefined;
      this.#readAt = Number.NEGATIVE_INFINITY;
      return undefined;
    }
    const address = addressOf();
    if (clockMs() - this.#readAt >= freshMs) this.#count(address, open);
    const share = this.#share;
    const denial = share?.denial(address);
    if (share === undefined || denial === undefined) {
      share?.take({ scope: address, amount: 1 });
      return undefined;
    }
    // The count does not tell whose connections have closed since: until the next count, their room goes to the first callers.
    return share.used > open + 0.5 ? undefined : denial;
  }

  #count(address: string | undefined, open: number): void {
    this.#readAt = clockMs();
    this.#share = undefined;
    const counts = connectionsTo(this.#port());
    if (counts === undefined) return;
    const total = [...counts.values()].reduce((sum, count) => sum + count, -1);
    if (total <= 0) return;
    const share = new Share(this.#limit, byAddress);
    for (const [scope, count] of counts) {
      // The system counts the new connection too, and those of other processes at the same port.
      const amount = ((scope === address ? count - 1 : count) * open) / total;
      if (amount > 0) share.take({ scope, amount });
    }
    this.#share = share;
  }
}

const established = '01';
/** The inode of a connection that waits to be accepted: it is counted when a server takes it. */
const notAccepted = '0';

/** How many open connections to a port each address has, as Linux tells it; undefined: this is no Linux. */
function connectionsTo(port: number): Map<string, number> | undefined {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const counts = new Map<string, number>();
  let isKnown = false;
  for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    let text: string;
    try {
      text = readFileSync(file, 'latin1');
    } catch {
      continue;
    }
    isKnown = true;
    for (const line of text.split('\n')) {
      const [, at = '', peer = '', state, , , , , , inode] = line.trim().split(/\s+/, 10);
      if (state !== established || !at.endsWith(local) || inode === notAccepted) continue;
      const address = addressOf(peer.slice(0, peer.indexOf(':')));
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  }
  return isKnown ? counts : undefined;
}

/** The text of an address that Linux gives as words of 32 bits, each with its lowest byte first. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (process.arch !== 's390x') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const mapped = bytes.subarray(0, 12).equals(Buffer.from('00000000000000000000ffff', 'hex'));
  if (mapped) return bytes.subarray(12).join('.');
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}
