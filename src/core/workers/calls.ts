import { ownTimeoutMs } from '../dispatch/limit.ts';
import type { CallGroup, CallReceiver, QueuedCall } from '../dispatch/queue/call-group.ts';
import { type FaultReporter, toErrorOutcome } from '../procedures/fault.ts';
import type { PoolOptions } from './options.ts';
import type { WorkerThread } from './threads.ts';
import { FrameBuilder } from './wire/frame.ts';
import { slotCount } from './wire/ledger.ts';

/**
 * A call that is expected to take at most so long may begin before the replica tells of earlier results, microseconds.
 */
const shortUs = 50;

/**
 * The calls that one worker was sent, and their expected cost: without those that have ended, or that nobody waits for.
 * Sends calls, and takes back those that have not started.
 */
export class WorkerCalls implements CallReceiver {
  /** By slot of the ledger; free slots are undefined. */
  readonly all: (QueuedCall | undefined)[] = [];
  /** Calls here, and those of them that do not just wait. */
  count = 0;
  working = 0;
  /** Calls of groups that are not short, among those. */
  long = 0;
  /** Expected work of those, microseconds. */
  loadUs = 0;
  readonly #free: number[] = [];
  #sequence = 1;
  readonly #thread: WorkerThread;
  readonly #options: Pick<PoolOptions, 'timeoutMs' | 'counters' | 'bodies'>;
  readonly #onFault: FaultReporter;
  readonly #frame: FrameBuilder;

  /** @param onFault called for a call that could not be sent; its caller gets only the ref */
  constructor(
    thread: WorkerThread,
    options: Pick<PoolOptions, 'timeoutMs' | 'counters' | 'bodies'>,
    onFault: FaultReporter,
  ) {
    this.#thread = thread;
    this.#options = options;
    this.#onFault = onFault;
    this.#frame = new FrameBuilder(options.bodies);
  }

  /** The call that a ticket names; undefined: it is not here, or not any more. */
  of(ticket: number): QueuedCall | undefined {
    const item = this.all[ticket % slotCount];
    return item?.ticket === ticket ? item : undefined;
  }

  /** Whether the next frame has calls already. */
  get hasFrame(): boolean {
    return this.#frame.count > 0;
  }

  /** Milliseconds a call may run. */
  timeoutOf({ call }: QueuedCall): number {
    return ownTimeoutMs(call, this.#options.timeoutMs);
  }

  /** Puts a call into the next frame. A call that can't be put into a frame is answered with -32603. */
  send(item: QueuedCall, follows: boolean): 'sent' | 'refused' {
    this.#take(item);
    try {
      const isShort = item.expectedUs <= shortUs;
      item.lease = this.#frame.add(item.call, item.ticket, follows, isShort, this.timeoutOf(item));
    } catch (error) {
      this.release(item);
      this.#fault(item, error);
      return 'refused';
    }
    this.#thread.ledger.send(item.ticket);
    return 'sent';
  }

  /** Posts the frame that `send` has filled. */
  flush(): void {
    // If the frame can't be posted, its groups are tried one by one, so that only the group fails that causes it.
    for (const group of this.#post()) {
      group.sendTo(this);
      for (const left of this.#post()) {
        // Not `held`: the answers below must not put the group back.
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
   * @returns their groups, whose `next` is the first call to run
   */
  takeBack(isMeant: (group: CallGroup, ticket: number) => boolean = () => true): CallGroup[] {
    const groups = new Set<CallGroup>();
    for (const item of this.all) {
      // All calls of a group come back together: the first of them changes what is known of the group.
      if (item === undefined) continue;
      const { group, ticket } = item;
      if (!(groups.has(group) || isMeant(group, ticket))) continue;
      if (!this.#thread.ledger.revoke(ticket)) continue;
      this.release(item);
      group.takeBack(item.index);
      groups.add(group);
    }
    return [...groups];
  }

  /** A call only waits from now on: it counts for the load no more. */
  rest(item: QueuedCall): void {
    if (item.loadUs === 0) return;
    if (item.isOfLong) this.long--;
    this.working--;
    this.loadUs -= item.loadUs;
    item.loadUs = 0;
  }

  /** The worker has ended a call, or nobody waits for it, or it will not start here. */
  release(item: QueuedCall): void {
    this.rest(item);
    // The worker reads the bytes no more.
    item.lease?.release();
    item.lease = undefined;
    const slot = item.ticket % slotCount;
    this.all[slot] = undefined;
    this.#free.push(slot);
    this.count--;
  }

  /** Gives a call a slot, and a ticket that no call had before. */
  #take(item: QueuedCall): void {
    const slot = this.#free.pop() ?? this.all.length;
    item.ticket = this.#sequence++ * slotCount + slot;
    item.loadUs = item.expectedUs;
    item.isOfLong = !item.group.isShort;
    if (item.isOfLong) this.long++;
    this.all[slot] = item;
    this.count++;
    this.working++;
    this.loadUs += item.loadUs;
  }

  /** @returns the groups of the frame if it could not be posted, else none */
  #post(): CallGroup[] {
    const { count } = this.#frame;
    if (count === 0) return [];
    const frame = this.#frame.take();
    try {
      this.#thread.post(frame);
    } catch {
      const firstTicket = frame.numbers[0] as number;
      const oldest = firstTicket - (firstTicket % slotCount);
      return this.takeBack((_group, ticket) => ticket >= oldest);
    }
    const { counters } = this.#options;
    counters.frames++;
    counters.framedCalls += count;
    return [];
  }

  #fault(item: QueuedCall, error: unknown): void {
    if (item.isAnswered) return;
    item.finish(toErrorOutcome(error, item.call.procedure.name, { onFault: this.#onFault }));
  }
}
