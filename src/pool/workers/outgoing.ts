import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { ownTimeoutMs } from '../../dispatch/limit.ts';
import { type CallTrain, fitsBehind, type QueuedCall } from '../../dispatch/queue/call-train.ts';
import { type FaultReporter, toErrorOutcome } from '../../router/fault.ts';
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

/** Sends calls to one worker, and takes back those that have not started. */
export class Outgoing {
  readonly #thread: ReplicaThread;
  readonly #slots: Slots;
  readonly #options: OutgoingOptions;
  readonly #onFault: FaultReporter;
  readonly #frame: FrameBuilder;

  /** @param onFault told of a call that could not be sent; its caller gets only the ref */
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

  /** Whether the next frame has calls already. */
  get hasFrame(): boolean {
    return this.#frame.count > 0;
  }

  /** Milliseconds a call may run. */
  timeoutOf({ call }: QueuedCall): number {
    return ownTimeoutMs(call, this.#options.timeoutMs);
  }

  /**
   * Puts the calls that a train sends next into the next frame. The rest of the train is held until those have ended. A
   * call that can't be put into a frame is answered with -32603.
   */
  add(train: CallTrain): void {
    let follows = false;
    let sumUs = 0;
    train.state = 'sent';
    for (; train.next < train.calls.length; train.next++) {
      const item = train.calls[train.next] as QueuedCall;
      if (item.isAnswered) continue;
      if (!fitsBehind(item, sumUs)) {
        train.state = 'held';
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
    train.sentUntil = Math.max(train.sentUntil, train.next);
  }

  /** Posts the frame that `add` has filled. */
  flush(): void {
    // Where the frame can't be posted, its trains are tried one by one, so that only the train fails that causes it.
    for (const train of this.#post()) {
      this.add(train);
      for (const left of this.#post()) {
        // Not `held`: the answers below must not put the train back.
        left.state = 'sent';
        for (const item of left.calls.slice(left.next)) {
          this.#fault(item, new Error('its message to the worker could not be posted'));
        }
      }
    }
  }

  /**
   * Takes calls back that have not started.
   *
   * @returns their trains, whose `next` is the first call to run
   */
  takeBack(isMeant: (item: QueuedCall) => boolean): CallTrain[] {
    const trains = new Set<CallTrain>();
    for (const item of this.#slots.all) {
      if (item === undefined || !isMeant(item)) continue;
      if (!this.#thread.ledger.revoke(item.ticket)) continue;
      this.#slots.release(item);
      item.train.next = Math.min(item.train.next, item.index);
      item.train.state = 'held';
      trains.add(item.train);
    }
    return [...trains];
  }

  /** @returns the trains of the frame where it could not be posted; none where it was */
  #post(): CallTrain[] {
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

  #fault(item: QueuedCall, error: unknown): void {
    if (item.isAnswered) return;
    item.finish(toErrorOutcome(error, item.call.procedure.name, this.#onFault));
  }
}
