import { isEnd, type WireReply } from '../wire/to-gateway.ts';

/**
 * Calls and streams that nobody waits for any more. A message that tells a member so may be lost: until their ends have come they are
 * kept, to be told again.
 */
export class Cancellations {
  readonly #open = new Set<number>();
  #untold: number[] = [];

  /** Whether there are some that the member is to be told of. */
  get hasUntold(): boolean {
    return this.#untold.length > 0;
  }

  add(tickets: readonly number[]): void {
    for (const ticket of tickets) {
      this.#open.add(ticket);
      this.#untold.push(ticket);
    }
  }

  /** Those that the member is told of now. */
  take(): readonly number[] {
    const taken = this.#untold;
    this.#untold = [];
    return taken;
  }

  /** What was told may not have come: all that are left are told again. */
  repeat(): void {
    this.#untold = [...this.#open];
  }

  /** The member never had them. */
  drop(tickets: readonly number[]): void {
    for (const ticket of tickets) this.#open.delete(ticket);
  }

  onReplies(replies: readonly WireReply[]): void {
    if (this.#open.size === 0) return;
    for (const { ticket, kind } of replies) if (isEnd(kind)) this.#open.delete(ticket);
  }

  clear(): void {
    this.#open.clear();
    this.#untold = [];
  }
}
