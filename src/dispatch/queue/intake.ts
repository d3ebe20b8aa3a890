import { isDue } from './ageing.ts';
import type { CallGroup } from './call-group.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { shortBoundUs } from './cost.ts';
import { type CallerShares, QueuedCallers } from './queued-callers.ts';
import { WaitingLine } from './waiting-line.ts';

/** Calls that one turn of the event loop may bring on top of those that wait, before frames leave. */
const turnAllowance = 4096;

/** The groups that are next. */
export interface Heads<Group> {
  readonly short: Group | undefined;
  readonly long: Group | undefined;
  /** The long one goes before any short one. */
  readonly isLongDue: boolean;
}

/**
 * What waits for a worker: in the line of the short groups, in that of all others, or at the gate of a procedure whose
 * concurrency is bounded. Each of these is fair to callers, and each caller has one account for all.
 */
export class Intake {
  readonly #maxQueue: number;
  readonly #callers: QueuedCallers;
  readonly #short: WaitingLine;
  readonly #long: WaitingLine;
  readonly #gates: ConcurrencyLimits;
  /** What the short groups that went past the first long one count for, microseconds. */
  #passedUs = 0;

  /**
   * @param maxQueue calls that may wait for a worker
   * @param shares what each caller gets of the workers
   */
  constructor(maxQueue: number, shares: CallerShares) {
    this.#maxQueue = maxQueue;
    this.#callers = new QueuedCallers(shares);
    this.#short = new WaitingLine(this.#callers);
    this.#long = new WaitingLine(this.#callers);
    this.#gates = new ConcurrencyLimits(this.#callers);
  }

  /** Calls that wait. */
  get size(): number {
    return this.#callers.calls + this.#short.unsharedCalls + this.#long.unsharedCalls;
  }

  /** Calls that wait in the line of a group. */
  sizeBeside(group: CallGroup): number {
    return this.#lineOf(group).size;
  }

  /** Whether any of them could go to a worker. */
  get hasNext(): boolean {
    return this.#short.size > 0 || this.#long.size > 0;
  }

  /** How long until a group that waits here has had its turn, and all others of its caller, microseconds of one worker. */
  waitUsOf(group: CallGroup): number {
    return this.#callers.waitUsOf(group) + this.#short.unsharedUs + this.#long.unsharedUs;
  }

  /** Whether so many more calls may not even come in to see whether a worker takes them at once. */
  isFlooded(calls: number): boolean {
    return this.#newcomers + calls > this.#maxQueue + turnAllowance;
  }

  /** Where more wait than may: the newest group of the caller that has most of them. */
  excess(): CallGroup | undefined {
    if (this.#newcomers <= this.#maxQueue) return undefined;
    this.#short.share();
    this.#long.share();
    return this.#callers.newestOfLongest();
  }

  add(group: CallGroup): void {
    this.#classify(group).add(group);
  }

  /** For what has waited before. */
  addBack(group: CallGroup): void {
    this.#classify(group).addBack(group);
  }

  /** The next of each line that may go to a worker now; they stay here until they are taken. */
  heads(): Heads<CallGroup> {
    const short = this.#peek(this.#short);
    const long = this.#peek(this.#long);
    if (long === undefined) this.#passedUs = 0;
    const isLongDue = long !== undefined && isDue(long.nextUs, this.#passedUs);
    return { short, long, isLongDue };
  }

  /**
   * One of the groups that `heads` gave goes to a worker.
   *
   * @param passedUs see `passUs`; 0: to the lane, where it takes no long group's place
   */
  take(group: CallGroup, passedUs: number): void {
    if (group.isShort) this.#passedUs += passedUs;
    else this.#passedUs = 0;
    this.#lineOf(group).shift();
    this.#gates.enter(group);
  }

  /** A group has its answers. True: another may go in its place. */
  leave(group: CallGroup): boolean {
    const next = this.#gates.leave(group);
    if (next === undefined) return false;
    this.addBack(next);
    return true;
  }

  /** As they are now: whoever answers one may let another go with it, which then waits nowhere. */
  get all(): CallGroup[] {
    return [...this.#short.all, ...this.#long.all, ...this.#gates.all];
  }

  /** Calls that `maxQueue` bounds. What a worker gave back was let in already: it waits for another one, or for this one. */
  get #newcomers(): number {
    return this.size - this.#callers.returned;
  }

  /** By what is known of its procedures now: a group that comes back may be shorter, or turn out to be long. */
  #classify(group: CallGroup): WaitingLine {
    group.isShort = group.leastUs <= shortBoundUs;
    return this.#lineOf(group);
  }

  #lineOf({ isShort }: CallGroup): WaitingLine {
    return isShort ? this.#short : this.#long;
  }

  /** The next that may go; the others before it go to their gates. */
  #peek(line: WaitingLine): CallGroup | undefined {
    for (;;) {
      const group = line.peek();
      if (group === undefined || this.#gates.mayPass(group)) return group;
      group.queue?.drop(group);
      this.#gates.keep(group);
    }
  }
}
