import { addHistograms, atZero, countOf, LatencyHistogram } from './histogram.ts';
import type { CallTotals } from './snapshot.ts';

/** A procedure may throw any code: past so many different ones the rest count as one. */
const maxCodes = 32;

/** What stands for the codes past the limit. */
const otherCodes = 'other';

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

/** The calls of one procedure on this thread: none of them waits, so their run is all the time they take. */
class InlineCounter {
  readonly #codes = new CodeCounter();
  readonly #run = new LatencyHistogram();
  #neverRan = 0;
  /** Calls since the last one that was timed, and what that took. */
  #untimed = 0;
  #lastUs = 0;

  record(code: number, runUs: number): void {
    this.#codes.record(code);
    if (runUs === notTimed) this.#untimed++;
    else if (runUs === neverRan) this.#neverRan++;
    else {
      // It stands for those before it, which are as many by chance as any.
      this.#run.record(runUs, this.#untimed + 1);
      this.#untimed = 0;
      this.#lastUs = runUs;
    }
  }

  totals(procedure: string): CallTotals {
    if (this.#untimed > 0) this.#run.record(this.#lastUs, this.#untimed);
    this.#untimed = 0;
    const run = this.#run.totals();
    const refused = atZero(this.#neverRan);
    const wait = atZero(this.#neverRan + countOf(run));
    const duration = addHistograms(run, refused);
    return { procedure, place: 'inline', codes: this.#codes.totals(), wait, run, duration };
  }
}

/** The calls of one procedure that went to the workers. */
class WorkerCounter {
  readonly #codes = new CodeCounter();
  readonly #wait = new LatencyHistogram();
  readonly #run = new LatencyHistogram();
  readonly #duration = new LatencyHistogram();

  record(code: number, waitUs: number, runUs: number): void {
    this.#codes.record(code);
    this.#wait.record(waitUs);
    if (runUs >= 0) this.#run.record(runUs);
    this.#duration.record(runUs >= 0 ? waitUs + runUs : waitUs);
  }

  totals(procedure: string): CallTotals {
    return {
      procedure,
      place: 'worker',
      codes: this.#codes.totals(),
      wait: this.#wait.totals(),
      run: this.#run.totals(),
      duration: this.#duration.totals(),
    };
  }
}

/** Calls by procedure and place, through all reloads: a name keeps its counts, and is a series for ever. */
export class CallCounters {
  readonly #inline = new Map<string, InlineCounter>();
  readonly #worker = new Map<string, WorkerCounter>();
  readonly #refused = new Map<string, CodeCounter>();

  /** @param runUs microseconds; -1: it never ran; -2: it ran, and was not timed */
  recordInline(procedure: string, code: number, runUs: number): void {
    let counter = this.#inline.get(procedure);
    if (counter === undefined) {
      counter = new InlineCounter();
      this.#inline.set(procedure, counter);
    }
    counter.record(code, runUs);
  }

  /** @param runUs microseconds; -1: it never ran */
  recordWorker(procedure: string, code: number, waitUs: number, runUs: number): void {
    let counter = this.#worker.get(procedure);
    if (counter === undefined) {
      counter = new WorkerCounter();
      this.#worker.set(procedure, counter);
    }
    counter.record(code, waitUs, runUs);
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
    const none = atZero(0);
    return [
      ...Array.from(this.#inline, ([procedure, counter]) => counter.totals(procedure)),
      ...Array.from(this.#worker, ([procedure, counter]) => counter.totals(procedure)),
      ...Array.from(this.#refused, ([procedure, counter]) => {
        const codes = counter.totals();
        return { procedure, place: 'none', codes, wait: none, run: none, duration: none };
      }),
    ];
  }
}
