import { clockMs } from '../../base/clock.ts';
import type { StreamStep, ValueSource } from '../../procedures/invoke.ts';
import { ErrorCode, type RpcError } from '../../protocol/errors.ts';
import { errorOutcome, type Outcome, textExceeds } from '../../protocol/reply.ts';
import type { StreamProducer } from './contract.ts';

/** Takes what a run gives, in order: values, then one end. Neither comes after a `cancel`. */
export interface RunOutlet {
  value(text: string): void;
  end(outcome: Outcome): void;
  /** The generator is gone: it has returned or thrown, or what was told to end has ended. Once, and after the end. */
  closed?(): void;
}

export type RunSource = Pick<ValueSource, 'next' | 'close'>;

/** The same generator, each part of which `run` runs: in the span of its call, for instance. */
export function ranBy(source: RunSource, run: <T>(part: () => T) => T): RunSource {
  return {
    next: () => run(() => source.next()),
    close: () => run(() => source.close()),
  };
}

/** What a run needs of the context of its handler. */
export interface RunContext {
  abort(reason: Error): void;
  readonly log: { warn(fields: object, text: string): void };
}

/** A generator that is told to end, and still waits after so long, is named in the log: it holds up nothing, but may stay for ever. */
export const leftAfterMs = 10_000;

/**
 * The generator of one stream, on the thread where it runs. It is resumed by the thread's run queue while it has credit.
 *
 *     waits for credit --grant--> queued --turn--> in next() --value--> queued, or waits for credit
 *                                                     `-----end------> over
 */
export class StreamRun implements StreamProducer {
  readonly ticket: number;
  readonly #source: RunSource;
  readonly #context: RunContext;
  readonly #outlet: RunOutlet;
  readonly #queue: RunQueue;
  readonly #maxValueBytes: number;
  #values = 0;
  #characters = 0;
  #state: 'paused' | 'queued' | 'waiting' | 'over' = 'paused';
  readonly #onLeft: ((ended: Promise<unknown>) => void) | undefined;
  /** Called when the `next()` has settled during which the run was closed. */
  #onStepEnd: (() => void) | undefined;
  /** Why the stream ends at its next yield. */
  #draining: RpcError | undefined;

  /**
   * @param maxValueBytes UTF-8 bytes of the text of one value, and of what it returns
   * @param queue of the thread that the generator is on
   * @param ticket names it to the watch of its thread
   * @param onLeft called if the generator takes time to end after it was told to, with the promise of its end
   */
  constructor(
    source: RunSource,
    context: RunContext,
    outlet: RunOutlet,
    maxValueBytes: number,
    queue: RunQueue,
    ticket = 0,
    onLeft?: (ended: Promise<unknown>) => void,
  ) {
    this.ticket = ticket;
    this.#onLeft = onLeft;
    this.#source = source;
    this.#context = context;
    this.#outlet = outlet;
    this.#maxValueBytes = maxValueBytes;
    this.#queue = queue;
  }

  grant(values: number, characters: number): void {
    this.#values += values;
    this.#characters += characters;
    this.#goOn();
  }

  cancel(reason: RpcError): void {
    if (this.#state === 'over') return;
    this.#close(reason);
  }

  drain(reason: RpcError): void {
    if (this.#state === 'over' || this.#draining !== undefined) return;
    this.#draining = reason;
    // A generator that waits for its reader has yielded, and will not be resumed: it ends here.
    if (this.#state === 'paused' || this.#state === 'queued') this.#endDrained(reason);
    else this.#context.abort(reason);
  }

  /** Runs it until it yields or waits. Never throws. */
  resume(): void {
    if (this.#state !== 'queued') return;
    this.#state = 'waiting';
    const step = this.#source.next();
    if (step instanceof Promise) void step.then((settled) => this.#take(settled));
    else this.#take(step);
  }

  #take(step: StreamStep): void {
    if (this.#state === 'over') {
      this.#onStepEnd?.();
      return;
    }
    if (typeof step !== 'string') {
      this.#state = 'over';
      // A generator that was told to end may do so in any way: what counts is that it was told.
      if (this.#draining !== undefined) this.#outlet.end(drained(this.#draining));
      else if (textExceeds(step.text, this.#maxValueBytes)) {
        this.#outlet.end(this.#tooLarge(step.text));
      } else this.#outlet.end(step);
      this.#outlet.closed?.();
      return;
    }
    // The next generator has its turn before this one goes on.
    this.#state = 'paused';
    if (textExceeds(step, this.#maxValueBytes)) {
      this.#state = 'over';
      this.#outlet.end(this.#tooLarge(step));
      this.#close(undefined);
      return;
    }
    this.#values--;
    this.#characters -= step.length;
    this.#outlet.value(step);
    // The outlet may have granted, drained or cancelled.
    if (this.#draining !== undefined && !this.#isOver) this.#endDrained(this.#draining);
    else this.#goOn();
  }

  get #isOver(): boolean {
    return this.#state === 'over';
  }

  #goOn(): void {
    if (this.#state !== 'paused' || this.#values <= 0 || this.#characters <= 0) return;
    this.#state = 'queued';
    this.#queue.add(this);
  }

  #endDrained(reason: RpcError): void {
    this.#state = 'over';
    this.#outlet.end(drained(reason));
    this.#close(reason);
  }

  #tooLarge(text: string): Outcome {
    this.#context.log.warn(
      { bytes: Buffer.byteLength(text), maxReplyBytes: this.#maxValueBytes },
      'a value of the stream is larger than maxReplyBytes, and ends it',
    );
    return errorOutcome(ErrorCode.LimitExceeded, { limit: this.#maxValueBytes });
  }

  /** Ends the generator. Its signal first: `return()` waits behind a pending `await`, and runs no `finally` before. */
  #close(reason: RpcError | undefined): void {
    const inNext =
      this.#state === 'waiting'
        ? new Promise<void>((resolve) => {
            this.#onStepEnd = resolve;
          })
        : undefined;
    this.#state = 'over';
    if (reason !== undefined) this.#context.abort(reason);
    const inReturn = this.#queue.guarded(this, () => this.#source.close());
    if (inNext === undefined && inReturn === undefined) {
      this.#outlet.closed?.();
      return;
    }
    // An iterator without `return()` still holds what its `next()` waits for.
    const closing = Promise.all([inNext, inReturn]);
    this.#onLeft?.(closing);
    const timer = setTimeout(() => {
      this.#context.log.warn(
        { afterMs: leftAfterMs },
        'the generator of a stream has not ended: its wait does not heed context.signal',
      );
    }, leftAfterMs).unref();
    void closing.then(() => {
      clearTimeout(timer);
      this.#outlet.closed?.();
    });
  }
}

function drained({ code, data }: RpcError): Outcome {
  return errorOutcome(code as ErrorCode, data);
}

/** How long generators may hold their thread before others get a turn: messages, requests, timers. */
const sliceMs = 1;

/** A generator that can go on: `ticket` names it to the thread's watch. */
export type Runnable = Pick<StreamRun, 'ticket' | 'resume'>;

/** Told of each time a generator holds the thread, from one yield or wait to the next. */
interface RunWatch {
  /** @param now by `clockMs` */
  enter(run: Runnable, now: number): void;
  leave(): void;
}

/**
 * The generators of one thread that can go on, first come first served, one value at a time. All of them together hold the
 * thread for a slice, then whatever else waits has its turn. One `setImmediate` per value and generator instead would let
 * a light call wait behind every generator there is.
 *
 *     turn of the event loop      |..........slice..........|        |..slice...
 *     generators                  a b c a   a   a   a   c a          a b a a
 *                                         ^ an async generator that waits for nothing comes back at once
 */
export class RunQueue {
  readonly #watch: RunWatch | undefined;
  readonly #onTurnEnd: (() => void) | undefined;
  #ready: Runnable[] = [];
  #isScheduled = false;
  /** When the slice is over that began last, by `clockMs`. */
  #until = 0;
  /** How long it held the thread: a value may take longer than the slice. */
  #tookMs = sliceMs;
  /** How long calls have held the thread since. */
  #callsMs = 0;
  #isEndDue = false;

  /** @param onTurnEnd called after each slice: what the values of many streams go into is sent once */
  constructor(watch?: RunWatch, onTurnEnd?: () => void) {
    this.#watch = watch;
    this.#onTurnEnd = onTurnEnd;
  }

  add(run: Runnable): void {
    // By index: a handler may have replaced `push`.
    this.#ready[this.#ready.length] = run;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // What comes back within the slice has the rest of it: an async generator comes back a microtask later.
    if (clockMs() < this.#until) queueMicrotask(() => this.#turn(true));
    else setImmediate(() => this.#turn(false));
  }

  /** Whether generators wait for their turn. */
  get isWaiting(): boolean {
    return this.#ready.length > 0;
  }

  /**
   * Calls have held the thread. Messages may come without end, each before the event loop's next turn: after calls have had
   * as much time as the last slice, the generators have theirs.
   */
  noteCalls(ms: number): void {
    this.#callsMs += ms;
    // The turn that is planned already goes on with what is left.
    if (this.isWaiting && this.#callsMs >= this.#tookMs) this.#slice(clockMs());
  }

  /** Runs a part of a generator outside of its turn. */
  guarded<T>(run: Runnable, part: () => T): T {
    this.#watch?.enter(run, clockMs());
    try {
      return part();
    } finally {
      this.#watch?.leave();
    }
  }

  #turn(isRest: boolean): void {
    if (isRest) {
      this.#run(clockMs());
      this.#endLater();
    } else {
      this.#slice(clockMs());
    }
    if (this.#ready.length === 0) this.#isScheduled = false;
    else setImmediate(() => this.#turn(false));
  }

  #slice(now: number): void {
    this.#until = now + sliceMs;
    this.#callsMs = 0;
    this.#tookMs = Math.max(sliceMs, this.#run(now) - now);
    this.#onTurnEnd?.();
  }

  /** @returns the time when it ended */
  #run(began: number): number {
    let now = began;
    const ready = this.#ready;
    let at = 0;
    // What is resumed comes back at the end.
    while (at < ready.length) {
      const run = ready[at++] as Runnable;
      this.#watch?.enter(run, now);
      run.resume();
      this.#watch?.leave();
      now = clockMs();
      if (now >= this.#until) break;
    }
    this.#ready = ready.slice(at);
    return now;
  }

  /** Generators may come back many times within a slice. `onTurnEnd` is called once for all that they gave. */
  #endLater(): void {
    if (this.#isEndDue || this.#onTurnEnd === undefined) return;
    this.#isEndDue = true;
    setImmediate(() => {
      this.#isEndDue = false;
      this.#onTurnEnd?.();
    });
  }
}
