import { inlinePlace, noPlace, type Place } from '../base/place.ts';
import { type CallTotals, LatencyHistogram } from './snapshot.ts';

/** Most error codes that are counted apart for one procedure, which may throw any code. All others count as one. */
const maxCodes = 32;

const otherCodes = 'other';

/**
 * Most procedures with times of their own, in each place: the first that are called. The three histograms of one
 * procedure are 7 KB of /metrics.
 */
const maxTimed = 150;

/** The label of the times of all other procedures. No procedure's name has parentheses. */
const otherProcedures = '(others)';

class CodeCounter {
  #results = 0;
  readonly #errors = new Map<number | string, number>();

  record(code: number): void {
    if (code === 0) {
      this.#results++;
      return;
    }
    const isKnown = this.#errors.has(code) || this.#errors.size < maxCodes;
    const key = isKnown ? code : otherCodes;
    this.#errors.set(key, (this.#errors.get(key) ?? 0) + 1);
  }

  totals(): Record<string, number> {
    const codes: Record<string, number> = Object.fromEntries(this.#errors);
    if (this.#results > 0) codes['0'] = this.#results;
    return codes;
  }
}

/** Instead of the time that a call ran: see dispatch/observer.ts. */
const neverRan = -1;
const notTimed = -2;

type Times = Pick<CallTotals, 'wait' | 'run' | 'duration'>;

/** The times of the calls of one procedure in one place. */
class CallTimes {
  readonly #wait = new LatencyHistogram();
  readonly #run = new LatencyHistogram();
  readonly #duration = new LatencyHistogram();
  /** Inline calls since the last timed call. */
  #untimed = 0;
  /** What the last timed call took, microseconds. */
  #lastUs = 0;

  /** @param runUs microseconds; -1: it never ran; -2: it ran inline without a wait, and was not timed */
  record(waitUs: number, runUs: number): void {
    if (runUs === notTimed) {
      this.#untimed++;
    } else if (runUs === neverRan) {
      this.#wait.record(waitUs);
      this.#duration.record(waitUs);
    } else if (waitUs > 0) {
      // Each call that waits is timed.
      this.#add(waitUs, runUs, 1);
    } else {
      // A timed call also counts for the untimed calls before it. Which calls are timed does not depend on what they take.
      this.#add(0, runUs, this.#untimed + 1);
      this.#untimed = 0;
      this.#lastUs = runUs;
    }
  }

  totals(): Times {
    if (this.#untimed > 0) this.#add(0, this.#lastUs, this.#untimed);
    this.#untimed = 0;
    return {
      wait: this.#wait.totals(),
      run: this.#run.totals(),
      duration: this.#duration.totals(),
    };
  }

  #add(waitUs: number, runUs: number, times: number): void {
    this.#wait.record(waitUs, times);
    this.#run.record(runUs, times);
    this.#duration.record(waitUs + runUs, times);
  }
}

const noTimes: Times = new CallTimes().totals();

interface ProcedureCounter {
  readonly codes: CodeCounter;
  /** The procedure's own times, or the times that all procedures past the limit share. */
  readonly times: CallTimes;
}

class PlaceCounters {
  readonly #place: Place;
  readonly #counters = new Map<string, ProcedureCounter>();
  #others: CallTimes | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  record(procedure: string, code: number, waitUs: number, runUs: number): void {
    const { codes, times } = this.#counters.get(procedure) ?? this.#add(procedure);
    codes.record(code);
    times.record(waitUs, runUs);
  }

  *rows(): Generator<CallTotals, void, undefined> {
    const place = this.#place;
    for (const [procedure, { codes, times }] of this.#counters) {
      const own = times === this.#others ? noTimes : times.totals();
      yield { procedure, place, codes: codes.totals(), ...own };
    }
    if (this.#others !== undefined) {
      yield { procedure: otherProcedures, place, codes: {}, ...this.#others.totals() };
    }
  }

  #add(procedure: string): ProcedureCounter {
    let times = new CallTimes();
    if (this.#counters.size >= maxTimed) {
      this.#others ??= times;
      times = this.#others;
    }
    const counter = { codes: new CodeCounter(), times };
    this.#counters.set(procedure, counter);
    return counter;
  }
}

/** Counts calls by procedure and place. A reload keeps the counts: a name that was called once is a series for ever. */
export class CallCounters {
  readonly #inline = new PlaceCounters(inlinePlace);
  /** The other places: each has counters from its first call on. */
  readonly #away = new Map<Place, PlaceCounters>();
  readonly #refused = new Map<string, CodeCounter>();

  /**
   * Counts a call that has ended in a place, whichever places there are.
   *
   * @param runUs microseconds; -1: the call never ran; -2: it ran, but was not timed (inline only)
   */
  record(procedure: string, code: number, place: Place, waitUs: number, runUs: number): void {
    if (place === inlinePlace) this.#inline.record(procedure, code, waitUs, runUs);
    else if (place === noPlace) this.recordRefused(procedure, code);
    else this.#countersOf(place).record(procedure, code, waitUs, runUs);
  }

  /** Counts a call that was refused before it had a place. @param label a procedure, or a label for all unknown methods */
  recordRefused(label: string, code: number): void {
    let counter = this.#refused.get(label);
    if (counter === undefined) {
      counter = new CodeCounter();
      this.#refused.set(label, counter);
    }
    counter.record(code);
  }

  totals(): CallTotals[] {
    return [...this.rows()];
  }

  /** The same, row by row, for who must not hold the thread. Rows that come meanwhile may be among them. */
  *rows(): Generator<CallTotals, void, undefined> {
    yield* this.#inline.rows();
    for (const counters of this.#away.values()) yield* counters.rows();
    for (const [procedure, counter] of this.#refused) {
      yield { procedure, place: noPlace, codes: counter.totals(), ...noTimes };
    }
  }

  #countersOf(place: Place): PlaceCounters {
    let counters = this.#away.get(place);
    if (counters === undefined) {
      counters = new PlaceCounters(place);
      this.#away.set(place, counters);
    }
    return counters;
  }
}
