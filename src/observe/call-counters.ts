import { addHistograms, atZero, countOf, LatencyHistogram } from './histogram.ts';
import type { CallTotals } from './snapshot.ts';

/** Most error codes that are counted apart for one procedure, which may throw any code. All others count as one. */
const maxCodes = 32;

/** The label of all codes past that limit. */
const otherCodes = 'other';

/**
 * Most procedures with times of their own, in each place: the first that are called. The three histograms of one
 * procedure are 7 KB of /metrics.
 */
const maxTimed = 150;

/** The label of the times of all other procedures. No procedure's name has parentheses. */
const otherProcedures = '(others)';

/** Counts calls by their code. */
class CodeCounter {
  #results = 0;
  readonly #errors = new Map<number | string, number>();

  record(code: number): void {
    if (code === 0) this.#results++;
    else this.#recordError(code);
  }

  totals(): Record<string, number> {
    const codes: Record<string, number> = Object.fromEntries(this.#errors);
    if (this.#results > 0) codes['0'] = this.#results;
    return codes;
  }

  #recordError(code: number): void {
    const isKnown = this.#errors.has(code) || this.#errors.size < maxCodes;
    const key = isKnown ? code : otherCodes;
    this.#errors.set(key, (this.#errors.get(key) ?? 0) + 1);
  }
}

/** In place of a time. The call never ran. */
const neverRan = -1;
/** In place of a time. The call ran, but was not timed. */
const notTimed = -2;

/** The times of inline calls. An inline call does not wait, so its run is all the time that it takes. */
class InlineTimes {
  readonly #run = new LatencyHistogram();
  #neverRan = 0;
  /** Calls since the last timed call. */
  #untimed = 0;
  /** What the last timed call took, microseconds. */
  #lastUs = 0;

  record(runUs: number): void {
    if (runUs === notTimed) this.#untimed++;
    else if (runUs === neverRan) this.#neverRan++;
    else {
      // A timed call also counts for the untimed calls before it. Which calls are timed does not depend on what they take.
      this.#run.record(runUs, this.#untimed + 1);
      this.#untimed = 0;
      this.#lastUs = runUs;
    }
  }

  totals(): Times {
    if (this.#untimed > 0) this.#run.record(this.#lastUs, this.#untimed);
    this.#untimed = 0;
    const run = this.#run.totals();
    const refused = atZero(this.#neverRan);
    const wait = atZero(this.#neverRan + countOf(run));
    return { wait, run, duration: addHistograms(run, refused) };
  }
}

/** The times of calls that ran in workers. */
class WorkerTimes {
  readonly #wait = new LatencyHistogram();
  readonly #run = new LatencyHistogram();
  readonly #duration = new LatencyHistogram();

  record(waitUs: number, runUs: number): void {
    this.#wait.record(waitUs);
    if (runUs >= 0) this.#run.record(runUs);
    this.#duration.record(runUs >= 0 ? waitUs + runUs : waitUs);
  }

  totals(): Times {
    return {
      wait: this.#wait.totals(),
      run: this.#run.totals(),
      duration: this.#duration.totals(),
    };
  }
}

type Times = Pick<CallTotals, 'wait' | 'run' | 'duration'>;

const noTimes: Times = { wait: atZero(0), run: atZero(0), duration: atZero(0) };

/** The calls of one procedure in one place. */
interface ProcedureCounter<T> {
  readonly codes: CodeCounter;
  /** The procedure's own times, or the times that all procedures past the limit share. */
  readonly times: T;
}

/** Calls in one place, by procedure. */
class PlaceCounters<T extends { totals(): Times }> {
  readonly #place: 'inline' | 'worker';
  readonly #createTimes: () => T;
  readonly #counters = new Map<string, ProcedureCounter<T>>();
  #others: T | undefined;

  constructor(place: 'inline' | 'worker', createTimes: () => T) {
    this.#place = place;
    this.#createTimes = createTimes;
  }

  of(procedure: string): ProcedureCounter<T> {
    let counter = this.#counters.get(procedure);
    if (counter === undefined) {
      counter = { codes: new CodeCounter(), times: this.#timesForNext() };
      this.#counters.set(procedure, counter);
    }
    return counter;
  }

  totals(): CallTotals[] {
    const place = this.#place;
    const all = Array.from(this.#counters, ([procedure, { codes, times }]): CallTotals => {
      const own = times === this.#others ? noTimes : times.totals();
      return { procedure, place, codes: codes.totals(), ...own };
    });
    if (this.#others !== undefined) {
      all.push({ procedure: otherProcedures, place, codes: {}, ...this.#others.totals() });
    }
    return all;
  }

  #timesForNext(): T {
    if (this.#counters.size < maxTimed) return this.#createTimes();
    this.#others ??= this.#createTimes();
    return this.#others;
  }
}

/** Counts calls by procedure and place. A reload keeps the counts: a name that was called once is a series for ever. */
export class CallCounters {
  readonly #inline = new PlaceCounters('inline', () => new InlineTimes());
  readonly #worker = new PlaceCounters('worker', () => new WorkerTimes());
  readonly #refused = new Map<string, CodeCounter>();

  /** @param runUs microseconds; -1: the call never ran; -2: it ran, but was not timed */
  recordInline(procedure: string, code: number, runUs: number): void {
    const { codes, times } = this.#inline.of(procedure);
    codes.record(code);
    times.record(runUs);
  }

  /** @param runUs microseconds; -1: the call never ran */
  recordWorker(procedure: string, code: number, waitUs: number, runUs: number): void {
    const { codes, times } = this.#worker.of(procedure);
    codes.record(code);
    times.record(waitUs, runUs);
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
    return [
      ...this.#inline.totals(),
      ...this.#worker.totals(),
      ...Array.from(this.#refused, ([procedure, counter]) => {
        return { procedure, place: 'none', codes: counter.totals(), ...noTimes };
      }),
    ];
  }
}
