import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { type CallGroup, fitsBehind, type GroupCall } from '../../dispatch/queue/call-group.ts';
import { type FaultReporter, toErrorOutcome } from '../../router/invoke.ts';
import type { PoolCounters } from '../stats.ts';
import { FrameBuilder } from '../wire/frame-builder.ts';
import { slotCount } from '../wire/ledger.ts';
import type { Slots } from './slots.ts';
import type { ReplicaThread } from './threads.ts';

/**
 * A call that is expected to take at most so long may begin before the replica tells of earlier results, microseconds.
 */
const shortUs = 50;

export interface OutgoingOptions {
  /** Milliseconds a call may run where its procedure does not say. */
  readonly timeoutMs: number;
  readonly counters: PoolCounters;
  /** What large params lie in. */
  readonly bodies: BodyMemory;
}

/** The way of calls to one worker, and back from it where they have not started. */
export class Outgoing {
  readonly #thread: ReplicaThread;
  readonly #slots: Slots;
  readonly #options: OutgoingOptions;
  readonly #onFault: FaultReporter;
  readonly #frame: FrameBuilder;

  /** @param onFault told of what could not be sent; its caller gets only the ref */
  constructor(
    thread: ReplicaThread,
    slots: Slots,
    options: OutgoingOptions,
    onFault: FaultReporter,
  ) {
    this.#frame = new FrameBuilder(options.bodies);
    this.#thread = thread;
    this.#slots = slots;
    this.#options = options;
    this.#onFault = onFault;
  }

  /** Whether calls are in the next frame already. */
  get hasFrame(): boolean {
    return this.#frame.count > 0;
  }

  /** Milliseconds a call may run. */
  timeoutOf({ call }: GroupCall): number {
    return call.procedure.timeoutMs ?? this.#options.timeoutMs;
  }

  /**
   * Puts what a group sends next into the next frame; the rest is held until that has ended. What can't be put there is
   * answered with -32603.
   */
  add(group: CallGroup): void {
    let follows = false;
    let sumUs = 0;
    group.state = 'sent';
    for (; group.next < group.calls.length; group.next++) {
      const item = group.calls[group.next] as GroupCall;
      if (item.isAnswered) continue;
      if (!fitsBehind(item, sumUs)) {
        group.state = 'held';
        break;
      }
      this.#slots.take(item);
      try {
        const isShort = item.expectedUs <= shortUs;
        const timeoutMs = this.timeoutOf(item);
        item.lease = this.#frame.add(item.call, item.ticket, follows, isShort, timeoutMs);
      } catch (error) {
        this.#slots.release(item);
        this.#fault(item, error);
        continue;
      }
      this.#thread.ledger.send(item.ticket);
      follows = true;
      sumUs += item.expectedUs;
    }
    group.sentUntil = Math.max(group.sentUntil, group.next);
  }

  /** Posts the frame that `add` has filled. */
  flush(): void {
    // Where it can't be posted its groups are tried one by one, so that the one it is for costs no other.
    for (const group of this.#post()) {
      this.add(group);
      for (const left of this.#post()) {
        // Not held any more, so that the answers don't bring it back.
        left.state = 'sent';
        for (const item of left.calls.slice(left.next)) {
          this.#fault(item, new Error('its message to the worker could not be posted'));
        }
      }
    }
  }

  /** Takes back what has not started. Their groups stand at the first call to run. */
  takeBack(isMeant: (item: GroupCall) => boolean): CallGroup[] {
    const groups = new Set<CallGroup>();
    for (const item of this.#slots.all) {
      if (item === undefined || !isMeant(item)) continue;
      if (!this.#thread.ledger.revoke(item.ticket)) continue;
      this.#slots.release(item);
      item.group.next = Math.min(item.group.next, item.index);
      item.group.state = 'held';
      groups.add(item.group);
    }
    return [...groups];
  }

  /** Gives back the groups of the frame where it could not be posted. */
  #post(): CallGroup[] {
    const { count } = this.#frame;
    if (count === 0) return [];
    const frame = this.#frame.take();
    try {
      this.#thread.post(frame);
    } catch {
      const firstTicket = frame.numbers[0] as number;
      const oldest = firstTicket - (firstTicket % slotCount);
      return this.takeBack(({ ticket }) => ticket >= oldest);
    }
    const { counters } = this.#options;
    counters.frames++;
    counters.framedCalls += count;
    return [];
  }

  #fault(item: GroupCall, error: unknown): void {
    if (item.isAnswered) return;
    item.finish(toErrorOutcome(error, item.call.procedure.name, this.#onFault));
  }
}
