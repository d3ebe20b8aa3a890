import type { WireReply } from '../wire/to-gateway.ts';

/** Whom a channel tells of what becomes of its calls, by their tickets. */
export interface ChannelOwner {
  /** Calls have left, in the frame `n`. */
  onSent(tickets: readonly number[], n: number): void;
  /** Calls never came to the member, and never will. Told in a microtask, never while a call is added. */
  onUndelivered(tickets: readonly number[]): void;
  onReplies(replies: readonly WireReply[], load: number): void;
  /** The member does not know any more what became of calls in frames before `n`. */
  onForgotten(before: number): void;
  /** Calls may be sent again. */
  onOpen(): void;
  /** Whether calls are with the member, or streams. */
  readonly isBusy: boolean;
  /**
   * What its streams may give, counted from their beginnings: ticket, values and characters of each.
   *
   * @param all false: only of those that were granted more since this was asked last
   */
  granted(all: boolean): readonly number[];
  /** Tickets of streams that are to end. */
  readonly drained: readonly number[];
  /** Whether a call, or a stream, still waits for what its member says. */
  awaits(ticket: number): boolean;
}
