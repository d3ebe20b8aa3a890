import { isDue } from './ageing.ts';
import type { CallTrain } from './call-train.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { shortBoundUs } from './cost.ts';
import { FairQueue } from './fair-queue.ts';
import { type CallerShares, QueuedCallers } from './queued-callers.ts';
import { WaitingLine } from './waiting-line.ts';

/** How many calls one turn of the event loop may bring beyond `maxQueue`: frames leave only at the end of the turn. */
const turnAllowance = 4096;

/** The next train of each line. */
export interface Heads<Train> {
  readonly short: Train | undefined;
  readonly long: Train | undefined;
  /** Whether the long train goes before any short one. */
  readonly isLongDue: boolean;
}

/**
 * The trains that wait for a worker: in the line of short trains, in the line of all others, or at the limit of a
 * procedure with `maxConcurrency`. Each of the three is shared out fairly among callers, and each caller has one
 * account for all three.
 */
export class Intake {
  readonly #maxQueue: number;
  readonly #callers: QueuedCallers;
  readonly #short: WaitingLine;
  readonly #long: WaitingLine;
  readonly #limits: ConcurrencyLimits;
  /** Trains that wait beside their lines (see `park`), by the key of what they wait for. */
  readonly #parked = new Map<string, FairQueue>();
  /** What the short trains that went before the first long one count for, microseconds: see `passUs`. */
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

  /** Calls that wait in the line of a train. */
  sizeBeside(train: CallTrain): number {
    return this.#lineOf(train).size;
  }

  /** Whether any train could go to a worker. */
  get hasNext(): boolean {
    return this.#short.size > 0 || this.#long.size > 0;
  }

  /** How much work leaves before all trains of this train's caller have left, microseconds of one worker. */
  waitUsOf(train: CallTrain): number {
    return this.#callers.waitUsOf(train) + this.#short.unsharedUs + this.#long.unsharedUs;
  }

  /** Whether so many more calls are too many even to look whether a worker takes them at once. */
  isFlooded(calls: number): boolean {
    return this.#newcomers + calls > this.#maxQueue + turnAllowance;
  }

  /**
   * Where more calls wait than may: the newest train of the caller that has the most calls. undefined: no train is too
   * much.
   */
  excess(): CallTrain | undefined {
    if (this.#newcomers <= this.#maxQueue) return undefined;
    this.#short.share();
    this.#long.share();
    return this.#callers.newestOfLongest();
  }

  add(train: CallTrain): void {
    this.#classify(train).add(train);
  }

  /** Adds a train that has waited before. */
  addBack(train: CallTrain): void {
    this.#classify(train).addBack(train);
  }

  /** The next train of each line that may go to a worker now. The trains stay here until `take`. */
  heads(): Heads<CallTrain> {
    const short = this.#peek(this.#short);
    const long = this.#peek(this.#long);
    if (long === undefined) this.#passedUs = 0;
    const isLongDue = long !== undefined && isDue(long.nextUs, this.#passedUs);
    return { short, long, isLongDue };
  }

  /**
   * One of the trains that `heads` gave goes to a worker.
   *
   * @param passedUs see `passUs`; 0: to the lane, where it takes no long train's place
   */
  take(train: CallTrain, passedUs: number): void {
    if (train.isShort) this.#passedUs += passedUs;
    else this.#passedUs = 0;
    this.#lineOf(train).shift();
    this.#limits.enter(train);
  }

  /**
   * Has one of the trains that `heads` gave wait beside its line: what it waits for, the trains behind it do not.
   *
   * @param key names what it waits for; the trains of one key stay in line
   */
  park(train: CallTrain, key: string): void {
    let queue = this.#parked.get(key);
    if (queue === undefined) {
      queue = new FairQueue(this.#callers);
      this.#parked.set(key, queue);
    }
    train.queue?.drop(train);
    queue.push(train);
  }

  /** The first of each line of parked trains. */
  parked(): CallTrain[] {
    const heads: CallTrain[] = [];
    for (const [key, queue] of this.#parked) {
      const head = queue.peek();
      if (head === undefined) this.#parked.delete(key);
      else heads.push(head);
    }
    return heads;
  }

  /** One of the trains that `parked` gave goes on. */
  takeParked(train: CallTrain, key: string): void {
    this.#parked.get(key)?.shift();
    this.#limits.enter(train);
  }

  /**
   * A train has its answers.
   *
   * @returns whether another train of its procedure may go in its place
   */
  leave(train: CallTrain): boolean {
    const next = this.#limits.leave(train);
    if (next === undefined) return false;
    this.addBack(next);
    return true;
  }

  /** A copy: answering one train may answer others with it. */
  get all(): CallTrain[] {
    const parked = [...this.#parked.values()].flatMap((queue) => queue.all);
    return [...this.#short.all, ...this.#long.all, ...this.#limits.all, ...parked];
  }

  /** Calls that `maxQueue` bounds. Calls that a worker gave back do not count: they were let in before. */
  get #newcomers(): number {
    return this.size - this.#callers.returned;
  }

  /**
   * Decides anew whether a train is short, by what is known of its procedures now: a train that comes back may have
   * become short or long.
   */
  #classify(train: CallTrain): WaitingLine {
    train.isShort = train.leastUs <= shortBoundUs;
    return this.#lineOf(train);
  }

  #lineOf({ isShort }: CallTrain): WaitingLine {
    return isShort ? this.#short : this.#long;
  }

  /** The next train that may go. Trains in front of it that may not go are moved to their limits. */
  #peek(line: WaitingLine): CallTrain | undefined {
    for (;;) {
      const train = line.peek();
      if (train === undefined || this.#limits.mayPass(train)) return train;
      train.queue?.drop(train);
      this.#limits.keep(train);
    }
  }
}
