import { clockMs } from '../../base/clock.ts';
import type { Acknowledgement } from '../wire/to-member.ts';
import { Cancellations } from './cancellations.ts';
import type { ChannelOwner } from './channel-owner.ts';

/** A member hears of this gateway so often at least, milliseconds: while it has calls or streams, and while it has none. */
const [busyMs, idleMs] = [1000, 10_000];

/** What is told beside the replies that have come. */
export type Told = Omit<Acknowledgement, 'ack'>;

/** What sends acknowledgements. */
export interface AckChannel {
  readonly isOpen: boolean;
  /** Whether replies have come that the member has not been told of. */
  readonly owesAck: boolean;
  /** Numbers of each list. */
  readonly listed: number;
  /** @returns false: it has not left */
  sendAck(told: Told): boolean;
}

/**
 * What a member is told beside its frames: which replies have come, what nobody waits for any more, what streams may give. These
 * messages have no numbers: one that is lost is mended by the next, and after a sync all is said again.
 */
export class AckSender {
  readonly cancelled = new Cancellations();
  readonly #channel: AckChannel;
  readonly #owner: ChannelOwner;
  #isPlanned = false;
  /** When the member was told of all streams, by `clockMs`. */
  #grantedAt = Number.NEGATIVE_INFINITY;
  #sentAt = 0;

  constructor(channel: AckChannel, owner: ChannelOwner) {
    this.#channel = channel;
    this.#owner = owner;
  }

  /** Something else has told the member that this gateway lives. */
  noteSent(now: number): void {
    this.#sentAt = now;
  }

  send(): void {
    const now = clockMs();
    this.#sentAt = now;
    const all = now - this.#grantedAt > busyMs;
    if (all) this.#grantedAt = now;
    const granted = this.#owner.granted(all);
    const { drained } = this.#owner;
    const cancelled = this.cancelled.take();
    const { listed } = this.#channel;
    const length = Math.max(cancelled.length, granted.length, drained.length, 1);
    for (let at = 0; at < length; at += listed) {
      const part = (list: readonly number[]) => list.slice(at, at + listed);
      const told = {
        cancelled: part(cancelled),
        granted: part(granted),
        drained: part(drained),
      };
      // What is not told now is told after the next sync.
      if (!this.#channel.sendAck(told)) return;
    }
  }

  /** At the end of this turn. */
  sendSoon(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      if (this.#channel.isOpen) this.send();
    });
  }

  /** To be called again and again while the session is open. */
  look(now: number): void {
    const { isBusy } = this.#owner;
    const isDue = isBusy ? now - this.#grantedAt > busyMs : now - this.#sentAt > idleMs;
    if (isDue || this.#channel.owesAck || this.cancelled.hasUntold) this.send();
  }

  /** A sync was answered: what was told before may not have come. */
  sendAgain(): void {
    this.cancelled.repeat();
    this.#grantedAt = Number.NEGATIVE_INFINITY;
    if (this.#owner.isBusy || this.cancelled.hasUntold) this.send();
  }
}
