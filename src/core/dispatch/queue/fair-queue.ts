import type { RequestScope } from '../scope.ts';
import type { CallGroup, WaitingPlace } from './call-group.ts';

/** The quantum: what a caller of weight 1 is given at each turn, expected microseconds. */
export const quantumUs = 1000;

/**
 * What a caller pays for its streams at most before its next group leaves, microseconds: a stream that takes more than its
 * caller's share must not keep that caller's calls from ever running.
 */
const mostForStreamsUs = 50_000;

/**
 * A group in the line of its caller. The nodes of a line are linked both ways, so that a group that is answered meanwhile
 * leaves at once. The group knows its node (`CallGroup.queue`), so that nobody has to search for it.
 */
class LineNode implements WaitingPlace, QueuedWork {
  readonly group: CallGroup;
  readonly line: Line;
  before: LineNode | undefined;
  behind: LineNode | undefined;
  /** What was counted when the group came: exactly that is taken off again when the group leaves. */
  readonly calls: number;
  readonly workUs: number;
  readonly isReturned: boolean;
  /** What the caller pays for the group at its turn, microseconds. */
  readonly costUs: number;

  constructor(
    group: CallGroup,
    line: Line,
    before: LineNode | undefined,
    behind: LineNode | undefined,
  ) {
    this.group = group;
    this.line = line;
    this.before = before;
    this.behind = behind;
    this.calls = group.waiting;
    this.workUs = group.expectedUs;
    this.isReturned = group.isReturned;
    this.costUs = group.nextUs;
  }

  drop(): void {
    this.line.queue.leave(this);
  }
}

/** The groups of one caller, oldest first. A new line is its own neighbour: a round of one. */
class Line implements CallerLine {
  readonly queue: FairQueue;
  readonly caller: QueuedCaller;
  first: LineNode | undefined = undefined;
  last: LineNode | undefined = undefined;
  /** What the caller may still send at its turn, expected microseconds. */
  deficitUs = 0;
  /** What it has paid for streams since its last group left. */
  #forStreamsUs = 0;
  /** Neighbours in the round of callers. */
  previous: Line = this;
  next: Line = this;

  constructor(queue: FairQueue, caller: QueuedCaller) {
    this.queue = queue;
    this.caller = caller;
  }

  get newest(): CallGroup | undefined {
    let node = this.last;
    while (node?.isReturned) node = node.before;
    return node?.group;
  }

  /** How many more turns the caller needs to send its oldest group away. */
  get rounds(): number {
    const lacksUs = (this.first?.costUs ?? 0) - this.deficitUs;
    return lacksUs <= 0 ? 0 : Math.max(1, Math.ceil(lacksUs / (quantumUs * this.caller.weight)));
  }

  charge(us: number): void {
    const due = Math.min(us, mostForStreamsUs - this.#forStreamsUs);
    this.#forStreamsUs += due;
    this.deficitUs -= due;
  }

  /** Its oldest group leaves at its turn. */
  pay(us: number): void {
    this.deficitUs -= us;
    this.#forStreamsUs = 0;
  }

  /** Gives the caller the quanta of so many turns. */
  grant(rounds: number): void {
    this.deficitUs += rounds * quantumUs * this.caller.weight;
  }
}

/**
 * Groups that wait for a worker, shared out among their callers: deficit round robin (Shreedhar and Varghese, 1995) by
 * expected cost.
 *
 *     round:  [ann: 3 groups] -> [bob: 200 groups] -> [eve: 1 group] -> back to ann
 *              ^ turn, deficit 1000 us
 *
 * At its turn a caller gets a quantum, and its groups leave, oldest first, as long as they fit into what the caller
 * has. The caller keeps the rest for its next turn, as long as it has groups here. So each caller gets the same share
 * of the time, times its `weight`, however many groups the others have: the shares differ by at most one quantum and
 * the caller's largest group.
 *
 * A group that comes back with calls that did not run is put in its caller's line by its age, where it stood before.
 * The caller gets back what the group had paid for those calls. A batch that is sent in portions pays for each
 * portion, and other groups go in between. A caller whose streams compute pays for that time, too.
 */
export class FairQueue {
  readonly #callers: QueuedCallers;
  readonly #lines = new Map<QueuedCaller, Line>();
  /** Whose turn it is; undefined: nobody waits. */
  #turn: Line | undefined;

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  /** @param callers the accounts that this queue shares with others */
  constructor(callers: QueuedCallers) {
    this.#callers = callers;
  }

  push(group: CallGroup): void {
    const caller = this.#callers.of(group);
    const line = this.#lines.get(caller) ?? this.#open(caller);
    line.deficitUs += group.returnedUs;
    // Nearly always the group is the youngest of its line. A group that comes back is one of the oldest.
    let behind: LineNode | undefined;
    if (line.last !== undefined && line.last.group.arrivedAt > group.arrivedAt) {
      behind = line.first;
      while (behind !== undefined && behind.group.arrivedAt <= group.arrivedAt) {
        behind = behind.behind;
      }
    }
    this.#enter(group, line, behind);
  }

  /** The group that goes next; it stays here until `shift`. */
  peek(): CallGroup | undefined {
    return this.#next()?.group;
  }

  shift(): CallGroup | undefined {
    const node = this.#next();
    if (node === undefined) return undefined;
    node.line.pay(node.costUs);
    this.leave(node);
    return node.group;
  }

  /** Takes a group out. */
  leave(node: LineNode): void {
    const { group, line, before, behind } = node;
    group.queue = undefined;
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

  /** Caller by caller, the groups of each oldest first. */
  get all(): CallGroup[] {
    const groups: CallGroup[] = [];
    for (const line of this.#lines.values()) {
      for (let node = line.first; node !== undefined; node = node.behind) {
        groups.push(node.group);
      }
    }
    return groups;
  }

  /** Gives turns until a caller has enough for its oldest group. */
  #next(): LineNode | undefined {
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

  /** @param behind the node that comes after it; undefined: it is the last */
  #enter(group: CallGroup, line: Line, behind: LineNode | undefined): void {
    const before = behind === undefined ? line.last : behind.before;
    const node = new LineNode(group, line, before, behind);
    if (before === undefined) line.first = node;
    else before.behind = node;
    if (behind === undefined) line.last = node;
    else behind.before = node;
    group.queue = node;
    this.size += node.calls;
    this.workUs += node.workUs;
    this.#callers.enter(line.caller, node);
  }

  /** Puts a new caller behind all others. It gets its first quantum at its first turn. */
  #open(caller: QueuedCaller): Line {
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

  #close(line: Line): void {
    this.#lines.delete(line.caller);
    line.caller.lines.delete(line);
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

/** Tells callers apart, and their shares. Asked only about calls that have to wait. */
export interface CallerShares {
  /** Names the caller of a request. */
  keyOf(scope: RequestScope): string;
  /** The caller's share, where 1 is everybody else's. Asked when the caller comes to wait. */
  weightOf(scope: RequestScope): number;
}

/**
 * Bounds of weights: with a smaller weight a caller would need many rounds for one call, with a larger one it would
 * have the workers to itself.
 */
const leastWeight = 1 / 64;
const mostWeight = 64;

/** A weight within the bounds; 1 for what is no number. */
export function boundedWeight(weight: number): number {
  return Number.isNaN(weight) ? 1 : Math.min(mostWeight, Math.max(leastWeight, weight));
}

/** What one group counts for in the accounts. */
export interface QueuedWork {
  readonly calls: number;
  /** Work that the group is expected to cost a worker, microseconds. */
  readonly workUs: number;
  /** See {@link CallGroup.isReturned}. */
  readonly isReturned: boolean;
}

/** The groups of one caller in one queue. */
export interface CallerLine {
  /** The group that came last, apart from groups that a worker gave back. */
  readonly newest: CallGroup | undefined;
  /** See {@link QueuedCallers.charge}. */
  charge(us: number): void;
}

/** A caller who has calls waiting, in any queue. `calls` does not count calls that workers gave back. */
export interface QueuedCaller extends Length {
  readonly key: string;
  readonly weight: number;
  groups: number;
  workUs: number;
  readonly lines: Set<CallerLine>;
}

/**
 * Who has calls waiting, and how many. Each caller has one account for all queues of a pool, so that nobody gets more
 * room by calling several procedures. An account exists only while its caller has something queued: so the bound on
 * waiting calls also bounds the accounts.
 */
export class QueuedCallers {
  readonly #shares: CallerShares;
  readonly #callers = new Map<string, QueuedCaller>();
  /** Made when somebody must be refused for the first time, and dropped when nothing waits: nobody else asks for it. */
  #longest: Longest<QueuedCaller> | undefined;
  #weights = 0;

  /** Calls that wait, and those of them that a worker gave back. */
  calls = 0;
  returned = 0;
  /** Work that all waiting calls are expected to cost, microseconds. */
  workUs = 0;

  constructor(shares: CallerShares) {
    this.#shares = shares;
  }

  /** Callers that have something queued. */
  get size(): number {
    return this.#callers.size;
  }

  /** The account of a group's caller, made where there is none. */
  of({ scope }: CallGroup): QueuedCaller {
    const key = this.#shares.keyOf(scope);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const caller = {
      key,
      weight: boundedWeight(this.#shares.weightOf(scope)),
      calls: 0,
      groups: 0,
      workUs: 0,
      lines: new Set<CallerLine>(),
    };
    this.#callers.set(key, caller);
    this.#weights += caller.weight;
    return caller;
  }

  /** A stream of a caller has had a worker for so long, microseconds: the caller pays for it, if it has anything queued. */
  charge(scope: RequestScope, us: number): void {
    if (this.#callers.size < 2) return;
    for (const line of this.#callers.get(this.#shares.keyOf(scope))?.lines ?? []) line.charge(us);
  }

  /** A caller has one more group queued. */
  enter(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.groups++;
    caller.workUs += workUs;
    this.calls += calls;
    this.workUs += workUs;
    if (isReturned) this.returned += calls;
    else this.#count(caller, calls);
  }

  /** A caller has one group less queued. Its account ends with its last group. */
  leave(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.groups--;
    caller.workUs -= workUs;
    this.calls -= calls;
    this.workUs -= workUs;
    if (isReturned) this.returned -= calls;
    else this.#count(caller, -calls);
    if (caller.groups > 0) return;
    this.#callers.delete(caller.key);
    this.#weights -= caller.weight;
    if (this.calls > 0) return;
    // Sums of floats drift: with nothing queued they must be exactly 0.
    this.workUs = 0;
    this.#weights = 0;
    this.#longest = undefined;
  }

  /**
   * The newest group of the caller that has the most calls queued. Groups that workers gave back do not count.
   * undefined: there is none.
   */
  newestOfLongest(): CallGroup | undefined {
    this.#longest ??= new Longest(this.#callers.values());
    let newest: CallGroup | undefined;
    for (const { newest: last } of this.#longest.longest()?.lines ?? []) {
      if (last === undefined) continue;
      if (newest === undefined || last.arrivedAt >= newest.arrivedAt) newest = last;
    }
    return newest;
  }

  /**
   * How much work leaves before the last group of this group's caller has left, microseconds of one worker: the
   * caller's own work by its share of the time, and at most all work that waits.
   */
  waitUsOf({ scope }: CallGroup): number {
    const caller = this.#callers.get(this.#shares.keyOf(scope));
    if (caller === undefined) return this.workUs;
    return Math.min(this.workUs, (caller.workUs * this.#weights) / caller.weight);
  }

  #count(caller: QueuedCaller, calls: number): void {
    this.#longest?.change(caller, caller.calls + calls);
    caller.calls += calls;
  }
}

/** A line with a number of calls. */
export interface Length {
  calls: number;
}

/**
 * Finds the longest of many lines that grow and shrink, without a search: lines of equal length stand together, and the
 * greatest length changes by no more than a line does.
 */
export class Longest<Line extends Length> {
  readonly #byLength = new Map<number, Set<Line>>();
  #most = 0;

  constructor(lines: Iterable<Line>) {
    for (const line of lines) this.#add(line, line.calls);
  }

  /**
   * The line changes its length. `line.calls` is still the old one.
   *
   * @param calls the new length; 0: the line is gone
   */
  change(line: Line, calls: number): void {
    const before = this.#byLength.get(line.calls);
    before?.delete(line);
    if (before?.size === 0) this.#byLength.delete(line.calls);
    this.#add(line, calls);
    while (this.#most > 0 && !this.#byLength.has(this.#most)) this.#most--;
  }

  /** The longest line; of several the one that has had its length for the longest time. undefined: there is no line. */
  longest(): Line | undefined {
    return this.#byLength.get(this.#most)?.values().next().value;
  }

  #add(line: Line, calls: number): void {
    if (calls === 0) return;
    const lines = this.#byLength.get(calls);
    if (lines === undefined) this.#byLength.set(calls, new Set([line]));
    else lines.add(line);
    if (calls > this.#most) this.#most = calls;
  }
}
