import type { RequestScope } from '../scope.ts';
import type { Callers } from '../share.ts';

/** The quantum: what a caller of weight 1 is given at each turn, expected microseconds. */
export const quantumUs = 1000;

/**
 * What a caller pays for its streams at most before its next entry leaves, microseconds: a stream that takes more than its
 * caller's share must not keep that caller's calls from ever running.
 */
const maxForStreamsUs = 50_000;

/** The same of its calls that left in runs of other callers' calls. */
const maxDebtUs = 50_000;

/** What waits in a fair queue: a call with those that follow it, or other work of one request. */
export interface QueuedWork {
  readonly scope: RequestScope;
  /** By `clockMs`. */
  readonly arrivedAt: number;
  /** Calls that wait. */
  readonly waiting: number;
  /** Expected microseconds of all of them, of what leaves next, and of what was sent and came back. */
  readonly expectedUs: number;
  readonly nextUs: number;
  readonly returnedUs: number;
  /** Whether it was sent, and taken back. */
  readonly isReturned: boolean;
  /** Where it waits. Kept by the queue. */
  queue: WaitingPlace | undefined;
}

export interface WaitingPlace {
  /** Takes the work out: it is about to be answered, or it goes elsewhere. */
  drop(work: QueuedWork): void;
}

/** An entry in the line of its caller, linked both ways: an entry that is answered meanwhile leaves without a search. */
class LineNode<Work extends QueuedWork> implements WaitingPlace {
  readonly entry: Work;
  readonly line: Line<Work>;
  before: LineNode<Work> | undefined;
  behind: LineNode<Work> | undefined;
  /** What was counted when the entry came: exactly that is taken off again when the entry leaves. */
  readonly calls: number;
  readonly workUs: number;
  readonly isReturned: boolean;
  /** What the caller pays for the entry at its turn, microseconds. */
  readonly costUs: number;

  constructor(
    entry: Work,
    line: Line<Work>,
    before: LineNode<Work> | undefined,
    behind: LineNode<Work> | undefined,
  ) {
    this.entry = entry;
    this.line = line;
    this.before = before;
    this.behind = behind;
    this.calls = entry.waiting;
    this.workUs = entry.expectedUs;
    this.isReturned = entry.isReturned;
    this.costUs = entry.nextUs;
  }

  drop(): void {
    this.line.queue.leave(this);
  }
}

/** The entries of one caller, oldest first. A new line is its own neighbour: a round of one. */
class Line<Work extends QueuedWork> {
  readonly queue: FairQueue<Work>;
  readonly caller: QueuedCaller<Work>;
  first: LineNode<Work> | undefined = undefined;
  last: LineNode<Work> | undefined = undefined;
  /** What the caller may still send at its turn, expected microseconds. */
  deficitUs: number;
  /** What it has paid for streams since its last entry left. */
  #forStreamsUs = 0;
  /** The same for calls that left in others' runs. */
  #forRunsUs = 0;
  /** Neighbours in the round of callers. */
  previous: Line<Work> = this;
  next: Line<Work> = this;

  constructor(queue: FairQueue<Work>, caller: QueuedCaller<Work>) {
    this.queue = queue;
    this.caller = caller;
    this.deficitUs = -caller.debtUs;
    caller.debtUs = 0;
  }

  /** The entry that came last, apart from entries that a worker gave back. */
  get newest(): Work | undefined {
    let node = this.last;
    while (node?.isReturned) node = node.before;
    return node?.entry;
  }

  /** How many more turns the caller needs to send its oldest entry away. */
  get rounds(): number {
    const lacksUs = (this.first?.costUs ?? 0) - this.deficitUs;
    return lacksUs <= 0 ? 0 : Math.max(1, Math.ceil(lacksUs / (quantumUs * this.caller.weight)));
  }

  charge(us: number): void {
    const due = Math.min(us, maxForStreamsUs - this.#forStreamsUs);
    this.#forStreamsUs += due;
    this.deficitUs -= due;
  }

  /** A call of its caller has left in another caller's run. */
  payForRun(us: number): void {
    this.#forRunsUs += us;
    this.deficitUs -= us;
  }

  /** Its oldest entry leaves at its turn. */
  pay(us: number): void {
    this.deficitUs -= us;
    this.#forStreamsUs = 0;
  }

  /** What it has taken in runs beyond its turns, microseconds. */
  get debtUs(): number {
    return Math.max(0, Math.min(-this.deficitUs, this.#forRunsUs, maxDebtUs));
  }

  /** Gives the caller the quanta of so many turns. */
  grant(rounds: number): void {
    this.deficitUs += rounds * quantumUs * this.caller.weight;
  }
}

/**
 * Entries that wait for a worker, shared out among their callers: deficit round robin (Shreedhar and Varghese, 1995) by
 * expected cost.
 *
 *     round:  [ann: 3 entries] -> [bob: 200 entries] -> [eve: 1 entry] -> back to ann
 *              ^ turn, deficit 1000 us
 *
 * At its turn a caller gets a quantum, and its entries leave, oldest first, as long as they fit into what the caller
 * has. The caller keeps the rest for its next turn, as long as it has entries here. So each caller gets the same share
 * of the time, times its `weight`, however many entries the others have: the shares differ by at most one quantum and
 * the caller's largest entry.
 *
 * An entry that comes back with calls that did not run is put in its caller's line by its age, where it stood before.
 * The caller gets back what the entry had paid for those calls. A batch that is sent in portions pays for each
 * portion, and other entries go in between. A caller whose streams compute pays for that time, too.
 */
export class FairQueue<Work extends QueuedWork> {
  readonly #callers: QueuedCallers<Work>;
  readonly #lines = new Map<QueuedCaller<Work>, Line<Work>>();
  /** Whose turn it is; undefined: nobody waits. */
  #turn: Line<Work> | undefined;

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  /** @param callers the accounts that this queue shares with others */
  constructor(callers: QueuedCallers<Work>) {
    this.#callers = callers;
  }

  push(entry: Work): void {
    const caller = this.#callers.of(entry);
    const line = this.#lines.get(caller) ?? this.#open(caller);
    line.deficitUs += entry.returnedUs;
    // Nearly always the entry is the youngest of its line. An entry that comes back is one of the oldest.
    let behind: LineNode<Work> | undefined;
    if (line.last !== undefined && line.last.entry.arrivedAt > entry.arrivedAt) {
      behind = line.first;
      while (behind !== undefined && behind.entry.arrivedAt <= entry.arrivedAt) {
        behind = behind.behind;
      }
    }
    const before = behind === undefined ? line.last : behind.before;
    const node = new LineNode(entry, line, before, behind);
    if (before === undefined) line.first = node;
    else before.behind = node;
    if (behind === undefined) line.last = node;
    else behind.before = node;
    entry.queue = node;
    this.size += node.calls;
    this.workUs += node.workUs;
    this.#callers.enter(caller, node);
  }

  /** The entry that goes next; it stays here until `shift`. */
  peek(): Work | undefined {
    return this.#next()?.entry;
  }

  /** An entry that waited elsewhere leaves with one that waited here: its caller pays as if it had waited here, too. */
  payFor(entry: Work): void {
    const caller = this.#callers.known(entry);
    if (caller === undefined) return;
    const line = this.#lines.get(caller);
    if (line !== undefined) line.payForRun(entry.nextUs);
    else caller.debtUs = Math.min(caller.debtUs + entry.nextUs, maxDebtUs);
  }

  shift(): Work | undefined {
    const node = this.#next();
    if (node === undefined) return undefined;
    node.line.pay(node.costUs);
    this.leave(node);
    return node.entry;
  }

  leave(node: LineNode<Work>): void {
    const { entry, line, before, behind } = node;
    entry.queue = undefined;
    if (before === undefined) line.first = behind;
    else before.behind = behind;
    if (behind === undefined) line.last = before;
    else behind.before = before;
    // A node that is garbage, and that the collector has not got to, would otherwise keep all nodes behind it alive.
    node.before = undefined;
    node.behind = undefined;
    this.size -= node.calls;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs - node.workUs;
    if (line.first === undefined) this.#close(line);
    this.#callers.leave(line.caller, node);
  }

  /** Caller by caller, the entries of each oldest first. */
  get all(): Work[] {
    const entries: Work[] = [];
    for (const line of this.#lines.values()) {
      for (let node = line.first; node !== undefined; node = node.behind) {
        entries.push(node.entry);
      }
    }
    return entries;
  }

  /** Gives turns until a caller has enough for its oldest entry. */
  #next(): LineNode<Work> | undefined {
    let line = this.#turn;
    if (line === undefined) return undefined;
    let { rounds } = line;
    for (let passed = 1; rounds > 0; passed++) {
      line = line.next;
      line.grant(1);
      this.#turn = line;
      const own = line.rounds;
      if (own === 0) break;
      rounds = Math.min(rounds, own);
      // After a whole round nobody has enough: the rounds in which nobody would have enough are given at once.
      if (passed % this.#lines.size === 0) {
        for (const each of this.#lines.values()) each.grant(rounds - 1);
        rounds = Number.POSITIVE_INFINITY;
      }
    }
    return line.first;
  }

  /** Puts a new caller behind all others. It gets its first quantum at its first turn. */
  #open(caller: QueuedCaller<Work>): Line<Work> {
    const line = new Line(this, caller);
    this.#lines.set(caller, line);
    caller.lines.add(line);
    if (this.#turn === undefined) {
      this.#turn = line;
      line.grant(1);
      return line;
    }
    line.next = this.#turn;
    line.previous = this.#turn.previous;
    line.previous.next = line;
    line.next.previous = line;
    return line;
  }

  #close(line: Line<Work>): void {
    this.#lines.delete(line.caller);
    line.caller.lines.delete(line);
    line.caller.debtUs = Math.max(line.caller.debtUs, line.debtUs);
    if (line.next === line) {
      this.#turn = undefined;
      return;
    }
    line.previous.next = line.next;
    line.next.previous = line.previous;
    if (this.#turn !== line) return;
    this.#turn = line.next;
    line.next.grant(1);
  }
}

/** Tells callers apart, and their weights. Asked only about calls that have to wait. */
export type CallerShares = Callers<RequestScope>;

/** A smaller weight would need many rounds for one call; with a larger one a caller would have the workers to itself. */
const minWeight = 1 / 64;
const maxWeight = 64;

/** A weight within the bounds; 1 for what is no number. */
export function boundedWeight(weight: number): number {
  return Number.isNaN(weight) ? 1 : Math.min(maxWeight, Math.max(minWeight, weight));
}

/** A caller who has calls waiting, in any queue. `calls` does not count calls that workers gave back. */
interface QueuedCaller<Work extends QueuedWork> {
  readonly key: string;
  readonly weight: number;
  calls: number;
  entries: number;
  workUs: number;
  /** What it has taken in runs beyond its turns, and pays in its next line, microseconds. */
  debtUs: number;
  readonly lines: Set<Line<Work>>;
}

/**
 * Who has calls waiting, and how many. Each caller has one account for all queues of a pool, so that nobody gets more
 * room by calling several procedures. An account exists only while its caller has something queued: so the bound on
 * waiting calls also bounds the accounts.
 */
export class QueuedCallers<Work extends QueuedWork> {
  readonly #shares: CallerShares;
  readonly #callers = new Map<string, QueuedCaller<Work>>();
  /** Made when somebody must be refused for the first time, and dropped when nothing waits: nobody else asks for it. */
  #longest: Longest<Work> | undefined;
  #weights = 0;

  /** Calls that wait, and those of them that a worker gave back. */
  calls = 0;
  returned = 0;
  /** Work that all waiting calls are expected to cost, microseconds. */
  workUs = 0;

  constructor(shares: CallerShares) {
    this.#shares = shares;
  }

  get size(): number {
    return this.#callers.size;
  }

  /** The account of an entry's caller, made where there is none. */
  of({ scope }: Work): QueuedCaller<Work> {
    const key = this.#shares.keyOf(scope);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const caller = {
      key,
      weight: boundedWeight(this.#shares.weightOf(scope)),
      calls: 0,
      entries: 0,
      workUs: 0,
      debtUs: 0,
      lines: new Set<Line<Work>>(),
    };
    this.#callers.set(key, caller);
    this.#weights += caller.weight;
    return caller;
  }

  /** The account of an entry's caller; undefined: it has nothing else queued, and so nobody to share with. */
  known({ scope }: Work): QueuedCaller<Work> | undefined {
    return this.#callers.size === 0 ? undefined : this.#callers.get(this.#shares.keyOf(scope));
  }

  /** A stream of a caller has had a worker for so long, microseconds: the caller pays for it, if it has anything queued. */
  charge(scope: RequestScope, us: number): void {
    if (this.#callers.size < 2) return;
    for (const line of this.#callers.get(this.#shares.keyOf(scope))?.lines ?? []) line.charge(us);
  }

  enter(caller: QueuedCaller<Work>, { calls, workUs, isReturned }: LineNode<Work>): void {
    caller.entries++;
    caller.workUs += workUs;
    this.calls += calls;
    this.workUs += workUs;
    if (isReturned) this.returned += calls;
    else this.#count(caller, calls);
  }

  /** A caller has one entry less queued. Its account ends with its last entry. */
  leave(caller: QueuedCaller<Work>, { calls, workUs, isReturned }: LineNode<Work>): void {
    caller.entries--;
    caller.workUs -= workUs;
    this.calls -= calls;
    this.workUs -= workUs;
    if (isReturned) this.returned -= calls;
    else this.#count(caller, -calls);
    if (caller.entries > 0) return;
    this.#callers.delete(caller.key);
    this.#weights -= caller.weight;
    if (this.calls > 0) return;
    // Sums of floats drift: with nothing queued they must be exactly 0.
    this.workUs = 0;
    this.#weights = 0;
    this.#longest = undefined;
  }

  /** Of the caller with the most calls. Entries that workers gave back do not count. undefined: there is none. */
  newestOfLongest(): Work | undefined {
    this.#longest ??= new Longest(this.#callers.values());
    let newest: Work | undefined;
    for (const { newest: last } of this.#longest.longest()?.lines ?? []) {
      if (last === undefined) continue;
      if (newest === undefined || last.arrivedAt >= newest.arrivedAt) newest = last;
    }
    return newest;
  }

  /**
   * How much work leaves before the last entry of this entry's caller has left, microseconds of one worker: the
   * caller's own work by its share of the time, and at most all work that waits.
   */
  waitUsOf({ scope }: Work): number {
    const caller = this.#callers.get(this.#shares.keyOf(scope));
    if (caller === undefined) return this.workUs;
    return Math.min(this.workUs, (caller.workUs * this.#weights) / caller.weight);
  }

  #count(caller: QueuedCaller<Work>, calls: number): void {
    this.#longest?.change(caller, caller.calls + calls);
    caller.calls += calls;
  }
}

/**
 * Finds the caller with the most calls without a search: callers with equally many stand together, and the greatest number
 * changes by no more than a caller's does.
 */
class Longest<Work extends QueuedWork> {
  readonly #byCalls = new Map<number, Set<QueuedCaller<Work>>>();
  #most = 0;

  constructor(callers: Iterable<QueuedCaller<Work>>) {
    for (const caller of callers) this.#add(caller, caller.calls);
  }

  /** A caller has so many calls from now on; 0: it is gone. `caller.calls` is still the old number. */
  change(caller: QueuedCaller<Work>, calls: number): void {
    const before = this.#byCalls.get(caller.calls);
    before?.delete(caller);
    if (before?.size === 0) this.#byCalls.delete(caller.calls);
    this.#add(caller, calls);
    while (this.#most > 0 && !this.#byCalls.has(this.#most)) this.#most--;
  }

  /** Of several callers the one that has had so many calls for the longest time; undefined: there is none. */
  longest(): QueuedCaller<Work> | undefined {
    return this.#byCalls.get(this.#most)?.values().next().value;
  }

  #add(caller: QueuedCaller<Work>, calls: number): void {
    if (calls === 0) return;
    const equals = this.#byCalls.get(calls);
    if (equals === undefined) this.#byCalls.set(calls, new Set([caller]));
    else equals.add(caller);
    this.#most = Math.max(this.#most, calls);
  }
}

/** Up to so much work waits in the order in which it came, microseconds: as much as one short call. */
export const plainUs = 8000;

/**
 * Entries that wait for a worker. While little work waits, they stand in the order in which they came, at the cost of a plain
 * queue. Beyond that they are shared out among their callers.
 *
 *     add -> arrivals -> worker            while little work waits
 *               |
 *               +-> shared -> worker       once more than 8 ms of it do
 */
export class WaitingLine<Work extends QueuedWork> implements WaitingPlace {
  readonly #shared: FairQueue<Work>;
  readonly #plainUs: number;
  /** In the order in which they came. One that was dropped is skipped. Taking the oldest copies nothing. */
  #arrivals: (Work | undefined)[] = [];
  #first = 0;
  /** Calls that have arrived and are on no caller's account yet, and what they are expected to cost a worker, microseconds. */
  unsharedCalls = 0;
  unsharedUs = 0;

  /** @param most work that may wait in the order in which it came, microseconds */
  constructor(callers: QueuedCallers<Work>, most = plainUs) {
    this.#shared = new FairQueue(callers);
    this.#plainUs = most;
  }

  /** Calls that wait. */
  get size(): number {
    return this.unsharedCalls + this.#shared.size;
  }

  add(entry: Work): void {
    this.#count(entry, 1);
    entry.queue = this;
    this.#arrivals.push(entry);
  }

  /** Adds an entry that has waited before. It is put among its caller's entries by its age. */
  addBack(entry: Work): void {
    this.#shared.push(entry);
  }

  /** The entry that goes next. It stays here until `shift`. */
  peek(): Work | undefined {
    if (this.unsharedUs + this.#shared.workUs > this.#plainUs) this.share();
    return this.#shared.peek() ?? this.#peekArrivals();
  }

  shift(): Work | undefined {
    return this.#shared.shift() ?? this.#shiftArrivals();
  }

  /** Takes an arrival out. */
  drop(entry: QueuedWork): void {
    this.#count(entry, -1);
    entry.queue = undefined;
  }

  /** See `payFor` of FairQueue. */
  payFor(entry: Work): void {
    this.#shared.payFor(entry);
  }

  share(): void {
    for (let entry = this.#shiftArrivals(); entry !== undefined; entry = this.#shiftArrivals()) {
      this.#shared.push(entry);
    }
  }

  get all(): Work[] {
    const entries = this.#shared.all;
    for (const entry of this.#arrivals) if (entry?.queue === this) entries.push(entry);
    return entries;
  }

  #peekArrivals(): Work | undefined {
    while (this.#first < this.#arrivals.length) {
      const entry = this.#arrivals[this.#first];
      if (entry?.queue === this) return entry;
      this.#advance();
    }
    return undefined;
  }

  #shiftArrivals(): Work | undefined {
    const entry = this.#peekArrivals();
    if (entry === undefined) return undefined;
    this.drop(entry);
    this.#advance();
    return entry;
  }

  #count(entry: QueuedWork, sign: 1 | -1): void {
    this.unsharedCalls += sign * entry.waiting;
    // Sums of floats drift: the work of no calls is exactly nothing.
    this.unsharedUs = this.unsharedCalls === 0 ? 0 : this.unsharedUs + sign * entry.expectedUs;
  }

  #advance(): void {
    this.#arrivals[this.#first++] = undefined;
    if (this.#first > 1024 && this.#first * 2 > this.#arrivals.length) {
      this.#arrivals = this.#arrivals.slice(this.#first);
      this.#first = 0;
    }
  }
}
