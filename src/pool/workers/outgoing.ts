import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { neverRan } from '../../dispatch/observer.ts';
import { replyText } from '../../jsonrpc/reply.ts';
import { type FaultReporter, toErrorOutcome } from '../../router/invoke.ts';
import { FrameBuilder } from '../wire/frame.ts';
import { slotCount } from '../wire/ledger.ts';
import type { Slots } from './slots.ts';
import type { PoolCounters } from '../stats.ts';
import type { ReplicaThread } from './threads.ts';
import type { Unit, UnitCall } from '../../dispatch/queue/call-group.ts';

/** A call expected to take no longer may begin before the results ahead of it are told of, microseconds. */
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
  timeoutOf({ call }: UnitCall): number {
    return call.procedure.timeoutMs ?? this.#options.timeoutMs;
  }

  /** Puts a unit's waiting calls into the next frame. What can't be put there is answered with -32603. */
  add(unit: Unit): void {
    let follows = false;
    unit.state = 'sent';
    for (; unit.next < unit.calls.length; unit.next++) {
      const item = unit.calls[unit.next] as UnitCall;
      if (item.isAnswered) continue;
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
    }
  }

  /** Posts the frame that `add` has filled. */
  flush(): void {
    // Where it can't be posted its units are tried one by one, so that the one it is for costs no other.
    for (const unit of this.#post()) {
      this.add(unit);
      for (const left of this.#post()) {
        // Not held any more, so that the answers don't bring it back.
        left.state = 'sent';
        for (const item of left.calls.slice(left.next)) {
          this.#fault(item, new Error('its message to the worker could not be posted'));
        }
      }
    }
  }

  /** Takes back what has not started. Their units stand at the first call to run. */
  takeBack(isMeant: (item: UnitCall) => boolean): Unit[] {
    const units = new Set<Unit>();
    for (const item of this.#slots.all) {
      if (item === undefined || !isMeant(item)) continue;
      if (!this.#thread.ledger.revoke(item.ticket)) continue;
      this.#slots.release(item);
      item.unit.next = Math.min(item.unit.next, item.index);
      item.unit.state = 'held';
      units.add(item.unit);
    }
    return [...units];
  }

  /** Gives back the units of the frame where it could not be posted. */
  #post(): Unit[] {
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

  #fault(item: UnitCall, error: unknown): void {
    if (item.isAnswered) return;
    const { id, procedure } = item.call;
    const outcome = toErrorOutcome(error, procedure.name, this.#onFault);
    item.answer(id === undefined ? undefined : replyText(id, outcome), outcome.code, neverRan);
  }
}
