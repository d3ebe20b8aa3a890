import { isDue } from './ageing.ts';
import type { CallGroup } from './call-group.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { shortBoundUs } from './cost.ts';
import { FairQueue } from './fair-queue.ts';
import { type CallerShares, QueuedCallers } from './queued-callers.ts';
import { WaitingLine } from './waiting-line.ts';

/** How many calls one turn of the event loop may bring beyond `maxQueue`: frames leave only at the end of the turn. */
const turnAllowance = 4096;

/** The next group of each line. */
export interface Heads<Group> {
  readonly short: Group | undefined;
  readonly long: Group | undefined;
  /** Whether the long group goes before any short one. */
  readonly isLongDue: boolean;
}

/**
 * The groups that wait for a worker: in the line of short groups, in the line of all others, or at the limit of a
 * procedure with `maxConcurrency`. Each of the three is shared out fairly among callers, and each caller has one
 * account for all three.
 */
export class Intake {
  readonly #maxQueue: number;
  readonly #callers: QueuedCallers;
  readonly #short: WaitingLine;
  readonly #long: WaitingLine;
  readonly #limits: ConcurrencyLimits;
  /** Groups that wait beside their lines (see `park`), by the key of what they wait for. */
  readonly #parked = new Map<string, FairQueue>();
  /** What the short groups that went before the first long one count for, microseconds: see `passUs`. */
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
    this.#limits = new ConcurrencyLimits(this.#callers);
  }

  /** Calls that wait. */
  get size(): number {
    return this.#callers.calls + this.#short.unsharedCalls + this.#long.unsharedCalls;
  }

  /** Calls that wait in the line of a group. */
  sizeBeside(group: CallGroup): number {
    return this.#lineOf(group).size;
  }

  /** Whether any group could go to a worker. */
  get hasNext(): boolean {
    return this.#short.size > 0 || this.#long.size > 0;
  }

  /** How much work leaves before all groups of this group's caller have left, microseconds of one worker. */
  waitUsOf(group: CallGroup): number {
    return this.#callers.waitUsOf(group) + this.#short.unsharedUs + this.#long.unsharedUs;
  }

  /** Whether so many more calls are too many even to look whether a worker takes them at once. */
  isFlooded(calls: number): boolean {
    return this.#newcomers + calls > this.#maxQueue + turnAllowance;
  }

  /**
   * Where more calls wait than may: the newest group of the caller that has the most calls. undefined: no group is too
   * much.
   */
  excess(): CallGroup | undefined {
    if (this.#newcomers <= this.#maxQueue) return undefined;
    this.#short.share();
    this.#long.share();
    return this.#callers.newestOfLongest();
  }

  add(group: CallGroup): void {
    this.#classify(group).add(group);
  }

  /** Adds a group that has waited before. */
  addBack(group: CallGroup): void {
    this.#classify(group).addBack(group);
  }

  /** The next group of each line that may go to a worker now. The groups stay here until `take`. */
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
    this.#limits.enter(group);
  }

  /**
   * Has one of the groups that `heads` gave wait beside its line: what it waits for, the groups behind it do not.
   *
   * @param key names what it waits for; the groups of one key stay in line
   */
  park(group: CallGroup, key: string): void {
    let queue = this.#parked.get(key);
    if (queue === undefined) {
      queue = new FairQueue(this.#callers);
      this.#parked.set(key, queue);
    }
    group.queue?.drop(group);
    queue.push(group);
  }

  /** The first of each line of parked groups. */
  parked(): CallGroup[] {
    const heads: CallGroup[] = [];
    for (const [key, queue] of this.#parked) {
      const head = queue.peek();
      if (head === undefined) this.#parked.delete(key);
      else heads.push(head);
    }
    return heads;
  }

  /** One of the groups that `parked` gave goes on. */
  takeParked(group: CallGroup, key: string): void {
    this.#parked.get(key)?.shift();
    this.#limits.enter(group);
  }

  /**
   * A group has its answers.
   *
   * @returns whether another group of its procedure may go in its place
   */
  leave(group: CallGroup): boolean {
    const next = this.#limits.leave(group);
    if (next === undefined) return false;
    this.addBack(next);
    return true;
  }

  /** A copy: answering one group may answer others with it. */
  get all(): CallGroup[] {
    const parked = [...this.#parked.values()].flatMap((queue) => queue.all);
    return [...this.#short.all, ...this.#long.all, ...this.#limits.all, ...parked];
  }

  /** Calls that `maxQueue` bounds. Calls that a worker gave back do not count: they were let in before. */
  get #newcomers(): number {
    return this.size - this.#callers.returned;
  }

  /**
   * Decides anew whether a group is short, by what is known of its procedures now: a group that comes back may have
   * become short or long.
   */
  #classify(group: CallGroup): WaitingLine {
    group.isShort = group.leastUs <= shortBoundUs;
    return this.#lineOf(group);
  }

  #lineOf({ isShort }: CallGroup): WaitingLine {
    return isShort ? this.#short : this.#long;
  }

  /** The next group that may go. Groups in front of it that may not go are moved to their limits. */
  #peek(line: WaitingLine): CallGroup | undefined {
    for (;;) {
      const group = line.peek();
      if (group === undefined || this.#limits.mayPass(group)) return group;
      group.queue?.drop(group);
      this.#limits.keep(group);
    }
  }
}
