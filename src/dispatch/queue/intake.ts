import { isDue } from './ageing.ts';
import type { CallGroup } from './call-group.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { shortBoundUs } from './cost.ts';
import { GroupQueue } from './group-queue.ts';

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
 * concurrency is bounded.
 */
export class Intake {
  readonly #maxQueue: number;
  readonly #short = new GroupQueue();
  readonly #long = new GroupQueue();
  readonly #gates = new ConcurrencyLimits();
  /** What the short groups that went past the first long one count for, microseconds. */
  #passedUs = 0;

  /** @param maxQueue calls that may wait for a worker */
  constructor(maxQueue: number) {
    this.#maxQueue = maxQueue;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#short.size + this.#long.size + this.#gates.size;
  }

  /** Calls that wait in the line of a group. */
  sizeBeside(group: CallGroup): number {
    return this.#lineOf(group).size;
  }

  /** Whether any of them could go to a worker. */
  get hasNext(): boolean {
    return this.#short.size > 0 || this.#long.size > 0;
  }

  /** What they are expected to cost a worker, microseconds. */
  get workUs(): number {
    return this.#short.workUs + this.#long.workUs + this.#gates.workUs;
  }

  /** Whether so many more calls may not even come in to see whether a worker takes them at once. */
  isFlooded(calls: number): boolean {
    return this.size + calls > this.#maxQueue + turnAllowance;
  }

  /** The newest group that waits, where more wait than may. */
  excess(): CallGroup | undefined {
    if (this.size <= this.#maxQueue) return undefined;
    return newerOf(this.#short.newest(), this.#long.newest()) ?? this.#gates.newest();
  }

  add(group: CallGroup): void {
    this.#classify(group).push(group);
  }

  /** For what comes back: it has waited already. */
  addFirst(group: CallGroup): void {
    this.#classify(group).pushFront(group);
  }

  /** The oldest of each line that may go to a worker now; they stay here until they are taken. */
  heads(): Heads<CallGroup> {
    const short = this.#peek(this.#short);
    const long = this.#peek(this.#long);
    if (long === undefined) this.#passedUs = 0;
    const isLongDue = long !== undefined && isDue(long.expectedUs, this.#passedUs);
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
    this.addFirst(next);
    return true;
  }

  *[Symbol.iterator](): Generator<CallGroup> {
    for (const waiting of [this.#short, this.#long, this.#gates]) {
      for (const group of waiting) if (!group.isDone) yield group;
    }
  }

  /** By what is known of its procedures now: a group that comes back may be shorter, or turn out to be long. */
  #classify(group: CallGroup): GroupQueue {
    group.isShort = group.leastUs <= shortBoundUs;
    return this.#lineOf(group);
  }

  #lineOf({ isShort }: CallGroup): GroupQueue {
    return isShort ? this.#short : this.#long;
  }

  /** The oldest that may go; the others before it go to their gates. */
  #peek(line: GroupQueue): CallGroup | undefined {
    for (;;) {
      const group = line.peek();
      if (group === undefined || this.#gates.mayPass(group)) return group;
      line.shift();
      this.#gates.keep(group);
    }
  }
}

function newerOf(a: CallGroup | undefined, b: CallGroup | undefined): CallGroup | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.waitingSince > b.waitingSince ? a : b;
}
