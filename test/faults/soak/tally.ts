import type { Plan } from '../plans.ts';

export interface SoakRow {
  readonly fault: string;
  calls: number;
  answered: number;
  /** Answered -32000: they have not run. */
  refused: number;
  /** Sent on a connection that was closed meanwhile, or under a body that was refused: they have not run either. */
  notAccepted: number;
  /** Calls with an id that got no answer, or one that may not be. */
  lost: number;
  /** Answers with the id or the nonce of another call, or a second answer. */
  crossed: number;
  /** Calls that ran more often than their answer says. */
  doubled: number;
  /** Milliseconds from the loss of a thread to the next call that its successor answered. */
  readonly recovery: number[];
}

/** What one call came to, as far as its caller knows. */
interface Entry {
  readonly row: SoakRow;
  /** As in `Ended`; undefined: the caller left, or got no answer, or one that does not say whether it has begun. */
  outcome: string | undefined;
  /** Its body never went out whole. */
  isPartial: boolean;
}

/** Codes of calls that have not run: refused, cancelled, too large. */
const notAccepted = 'not accepted';
const neverRan = new Set(['-32000', '-32003', '-32004 params', notAccepted]);

/**
 * The code of calls that may have run or not: a busy machine may keep the thread from the handler of a call, which has begun by its
 * ledger, until its deadline has passed.
 */
const mayHaveRun = '-32001';

/** Every call and what it came to. */
export class Tally {
  /** What may not be, each in a line. */
  readonly violations: string[] = [];
  readonly #rows = new Map<string, SoakRow>();
  readonly #entries = new Map<number, Entry>();

  get rows(): SoakRow[] {
    return [...this.#rows.values()];
  }

  row(fault: string): SoakRow {
    let row = this.#rows.get(fault);
    if (row === undefined) {
      const counts = { calls: 0, answered: 0, refused: 0, lost: 0, crossed: 0, doubled: 0 };
      row = { fault, ...counts, notAccepted: 0, recovery: [] };
      this.#rows.set(fault, row);
    }
    return row;
  }

  /** The call is about to be sent. */
  begin({ params }: Plan, row: SoakRow): void {
    row.calls++;
    this.#entries.set(params.n, { row, outcome: undefined, isPartial: false });
  }

  /** Its body has not gone out whole, so that nobody can run it. */
  left({ params }: Plan): void {
    this.#entry(params.n).isPartial = true;
  }

  /** It was answered, and may have begun or not. */
  maybeBegun({ params }: Plan): void {
    this.#entry(params.n).outcome = undefined;
  }

  answered(plan: Plan, outcome: string, isAllowed: boolean): void {
    const entry = this.#entry(plan.params.n);
    entry.outcome = outcome;
    entry.row.answered++;
    if (outcome === '-32000') entry.row.refused++;
    else if (!isAllowed) {
      entry.row.lost++;
      this.violations.push(`${plan.method} ${plan.params.kind}: ${outcome}`);
    }
  }

  /**
   * Its connection was closed without an answer, as servers do: one on which nobody asks for a while, just as a client that was held up
   * asks, or one under a large body that is refused. That the call never ran is looked at in the end.
   */
  notAccepted({ params }: Plan): void {
    const entry = this.#entry(params.n);
    entry.outcome = notAccepted;
    entry.row.notAccepted++;
  }

  /** It has no answer, and should have one. */
  lost({ method, params }: Plan, why: string): void {
    this.#entry(params.n).row.lost++;
    this.violations.push(`${method} ${params.n}: not answered: ${why}`);
  }

  crossed({ params }: Plan, what: string): void {
    this.#entry(params.n).row.crossed++;
    this.violations.push(what);
  }

  /** Each call ran as often as its answer says. @param runs executions, by the number of the call */
  checkRuns(runs: readonly number[]): void {
    for (const [n, { row, outcome, isPartial }] of this.#entries) {
      const count = runs[n] ?? 0;
      const most = isPartial || (outcome !== undefined && neverRan.has(outcome)) ? 0 : 1;
      const isOpen = outcome === undefined || outcome === mayHaveRun;
      const least = isOpen || neverRan.has(outcome) ? 0 : 1;
      if (count > most && outcome === notAccepted) row.lost++;
      else if (count > most) row.doubled++;
      if (count < least) row.lost++;
      if (count > most || count < least)
        this.violations.push(`call ${n} (${row.fault}): ${outcome}, executions: ${count}`);
    }
  }

  #entry(n: number): Entry {
    const entry = this.#entries.get(n);
    if (entry === undefined) throw new Error(`call ${n} was not begun`);
    return entry;
  }
}
