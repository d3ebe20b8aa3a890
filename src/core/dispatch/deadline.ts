import { clockMs } from '../base/clock.ts';
import { maxDelayMs } from '../base/timer.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { errorOutcome, type Outcome } from '../protocol/reply.ts';
import type { Verdict } from './authenticate.ts';
import { cancelledOutcome } from './call.ts';
import type { RequestScope } from './scope.ts';
import type { Service } from './service.ts';

/** Something that must end by a certain time. */
export interface Deadline {
  /** By `clockMs`. */
  readonly at: number;
  /** Called once, at or just after `at`. */
  expire(): void;
  /** Called instead when the service ends first. */
  shutdown(): void;
}

/** Thousands of deadlines may come at once: after so many answers what else has come gets a turn. The rest follows within 10 ms. */
export const expiriesAtOnce = 500;

/** Shortest delay of the timer, so that many short deadlines share one wake-up. */
const granularityMs = 5;

/**
 * One timer for all deadlines: a timer per call costs 0.55 us, an entry in a Set a tenth of that. The timer is set
 * for the earliest deadline that was added. A call that ends in time does not reset the timer, so the timer fires
 * about once per timeout, not once per call.
 */
export class DeadlineSweep {
  readonly #entries = new Set<Deadline>();
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param now the clock of the deadlines, in milliseconds */
  constructor(now: () => number = clockMs) {
    this.#now = now;
  }

  add(entry: Deadline): void {
    this.#entries.add(entry);
    if (entry.at < this.#timerAt) this.#schedule(entry.at);
  }

  delete(entry: Deadline): void {
    this.#entries.delete(entry);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timerAt = Number.POSITIVE_INFINITY;
    const entries = [...this.#entries];
    this.#entries.clear();
    for (const entry of entries) entry.shutdown();
  }

  #schedule(at: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const delay = Math.min(Math.max(at - this.#now(), granularityMs), maxDelayMs);
    this.#timer = setTimeout(() => this.#sweep(), delay);
    // A deadline alone must keep no process alive. What the call waits for does that.
    this.#timer.unref();
  }

  #sweep(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#now();
    let earliest = Number.POSITIVE_INFINITY;
    let left = expiriesAtOnce;
    for (const entry of this.#entries) {
      if (entry.at > now || left === 0) {
        earliest = Math.min(earliest, entry.at);
      } else {
        left--;
        this.#entries.delete(entry);
        entry.expire();
      }
    }
    // An expiry may have added a deadline and set the timer for it.
    if (earliest < this.#timerAt) this.#schedule(earliest);
  }
}

/** A look that comes this many intervals late shows that this thread was held up. */
const stalledTimes = 3;

/** Looks at calls in flight at regular intervals. Stops its timer while there are none. */
export class Sweep {
  readonly #everyMs: number;
  readonly #look: (now: number, stalledMs: number) => boolean;
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;

  /**
   * @param look returns whether there is anything left to look at. `stalledMs`: for how long before this thread was held up; what
   *   came meanwhile has been read
   */
  constructor(everyMs: number, look: (now: number, stalledMs: number) => boolean) {
    this.#everyMs = everyMs;
    this.#look = look;
  }

  wake(): void {
    if (this.#timer !== undefined) return;
    this.#lookedAt = clockMs();
    this.#timer = setInterval(() => this.#onTime(), this.#everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** After a stall of this thread, results that came meanwhile are read first: their calls may have ended in time. */
  #onTime(): void {
    const now = clockMs();
    const stalledMs = Math.max(0, now - this.#lookedAt - this.#everyMs * stalledTimes);
    this.#lookedAt = now;
    if (stalledMs > 0) setImmediate(() => this.#lookNow(stalledMs));
    else this.#lookNow(0);
  }

  #lookNow(stalledMs: number): void {
    if (!this.#look(clockMs(), stalledMs)) this.stop();
  }
}

/**
 * With so many calls and generators that nobody waits for, a thread takes no more calls of their procedures: calls take some KB each,
 * and a worker has as many places for calls that somebody waits for.
 */
export const maxOrphansPerWorker = 4096;

/**
 * Counts what still runs on one thread although nobody waits for it: calls whose callers have left or that were answered
 * at their deadline, and generators that were told to end.
 */
export class OrphanCounts {
  readonly #byProcedure = new Map<string, number>();
  total = 0;
  /** Calls among them that were answered at their deadline. */
  overdue = 0;
  /** Read for each call. */
  isFull = false;

  /** Whether the thread takes no more calls of a procedure: it is full, and the procedure has a part in that. */
  isFullOf(procedure: string): boolean {
    return this.isFull && this.#byProcedure.has(procedure);
  }

  add(procedure: string): void {
    this.#change(procedure, 1);
  }

  /** Counts something until it has ended; undefined: it has. */
  addUntil(procedure: string, ended: Promise<unknown> | undefined): void {
    if (ended === undefined) return;
    this.add(procedure);
    void ended.then(() => this.remove(procedure));
  }

  addOverdue(procedure: string): void {
    this.add(procedure);
    this.overdue++;
  }

  remove(procedure: string): void {
    this.#change(procedure, -1);
  }

  removeOverdue(procedure: string): void {
    this.remove(procedure);
    this.overdue--;
  }

  #change(procedure: string, change: 1 | -1): void {
    const count = (this.#byProcedure.get(procedure) ?? 0) + change;
    if (count === 0) this.#byProcedure.delete(procedure);
    else this.#byProcedure.set(procedure, count);
    this.total += change;
    this.isFull = this.total >= maxOrphansPerWorker;
  }
}

/**
 * Waits for the verdict on the caller of a request, as `refusalWithin` waits.
 *
 * @returns why nothing of the request runs; undefined: it may run, and its scope knows who calls. Synchronous where
 *   the verdict is there. Never rejects.
 */
export function awaitVerdict(
  scope: RequestScope,
  verdict: Verdict | Promise<Verdict>,
  deadlines: DeadlineSweep,
): Outcome | undefined | Promise<Outcome | undefined> {
  if (!(verdict instanceof Promise)) return read(scope, verdict);
  const refusal = verdict.then((value) => read(scope, value));
  return refusalWithin(scope, refusal, deadlines);
}

/**
 * For a protocol that must know who calls before it reads a request whose scope has a verdict.
 *
 * @param goOn is told why the request is refused; undefined: it may go on, and the service need not ask again. At once where
 *   the verdict is there
 */
export function afterVerdict(
  service: Pick<Service, 'admit'>,
  scope: RequestScope,
  goOn: (refused: Outcome | undefined) => void,
): void {
  const settle = (refused: Outcome | undefined): void => {
    // The scope knows who calls by now: the service must not wait for it again.
    scope.verdict = undefined;
    goOn(refused);
  };
  const refusal = service.admit(scope);
  if (refusal instanceof Promise) void refusal.then(settle);
  else settle(refusal);
}

/**
 * Waits for what must be known before a request may run: until the request's deadline, until the caller leaves, or until
 * the service ends.
 *
 * @returns why nothing of the request runs; undefined: it may run. Rejects where `refusal` rejects first
 */
export function refusalWithin(
  scope: RequestScope,
  refusal: Promise<Outcome | undefined>,
  deadlines: DeadlineSweep,
): Promise<Outcome | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (found: Outcome | undefined): void => {
      deadlines.delete(deadline);
      scope.removeListener(cancel);
      resolve(found);
    };
    const cancel = { onCancelled: () => settle(cancelledOutcome) };
    const { timeoutMs } = scope;
    const deadline = {
      at: scope.expiresAt,
      expire: () => settle(errorOutcome(ErrorCode.DeadlineExceeded, { timeoutMs })),
      shutdown: cancel.onCancelled,
    };
    deadlines.add(deadline);
    scope.addListener(cancel);
    if (scope.cancelled) cancel.onCancelled();
    refusal.then(settle, (error: unknown) => {
      reject(error);
      settle(undefined);
    });
  });
}

function read(scope: RequestScope, verdict: Verdict): Outcome | undefined {
  if (verdict.refusal !== undefined) return verdict.refusal;
  scope.authText = verdict.authText;
  return undefined;
}
