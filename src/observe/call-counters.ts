import { addHistograms, atZero, countOf, LatencyHistogram } from './histogram.ts';
import type { CallTotals } from './snapshot.ts';

/** A procedure may throw any code: past so many different ones the rest count as one. */
const maxCodes = 32;

/** What stands for the codes past the limit. */
const otherCodes = 'other';

/**
 * Procedures that are timed by themselves, in each place: the first so many that are called. The three histograms of
 * one are 7 KB of /metrics.
 */
const maxTimed = 150;

/** What stands for the times of all others: in parentheses, which no name has. */
const otherProcedures = '(others)';

/** How many of each code. */
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

/** In place of a time: the call never ran; it ran, and was not timed. */
const neverRan = -1;
const notTimed = -2;

/** The times of calls on this thread: none of them waits, so their run is all the time they take. */
class InlineTimes {
  readonly #run = new LatencyHistogram();
  #neverRan = 0;
  /** Calls since the last one that was timed, and what that took. */
  #untimed = 0;
  #lastUs = 0;

  record(runUs: number): void {
    if (runUs === notTimed) this.#untimed++;
    else if (runUs === neverRan) this.#neverRan++;
    else {
      // It stands for those before it, which are as many by chance as any.
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

/** The times of calls that went to the workers. */
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
  /** Its own, or those of all past the limit. */
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

/** Calls by procedure and place, through all reloads: a name keeps its counts, and is a series for ever. */
export class CallCounters {
  readonly #inline = new PlaceCounters('inline', () => new InlineTimes());
  readonly #worker = new PlaceCounters('worker', () => new WorkerTimes());
  readonly #refused = new Map<string, CodeCounter>();

  /** @param runUs microseconds; -1: it never ran; -2: it ran, and was not timed */
  recordInline(procedure: string, code: number, runUs: number): void {
    const { codes, times } = this.#inline.of(procedure);
    codes.record(code);
    times.record(runUs);
  }

  /** @param runUs microseconds; -1: it never ran */
  recordWorker(procedure: string, code: number, waitUs: number, runUs: number): void {
    const { codes, times } = this.#worker.of(procedure);
    codes.record(code);
    times.record(waitUs, runUs);
  }

  /** What had no place. @param label a procedure, or what stands for all that is none */
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
