import { ErrorCode, type RpcError } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../../jsonrpc/reply.ts';
import { textExceeds } from '../../jsonrpc/utf8.ts';
import type { StreamStep, ValueSource } from '../../router/stream/value-source.ts';
import type { StreamProducer } from './contract.ts';
import type { Runnable, RunQueue } from './run-queue.ts';

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
export class StreamRun implements StreamProducer, Runnable {
  readonly ticket: number;
  readonly #source: RunSource;
  readonly #context: RunContext;
  readonly #outlet: RunOutlet;
  readonly #queue: RunQueue;
  readonly #maxValueBytes: number;
  #values = 0;
  #characters = 0;
  #state: 'paused' | 'queued' | 'waiting' | 'over' = 'paused';
  /** Why the stream ends at its next yield. */
  #draining: RpcError | undefined;

  /**
   * @param maxValueBytes UTF-8 bytes of the text of one value, and of what it returns
   * @param queue of the thread that the generator is on
   * @param ticket see {@link Runnable}
   */
  constructor(
    source: RunSource,
    context: RunContext,
    outlet: RunOutlet,
    maxValueBytes: number,
    queue: RunQueue,
    ticket = 0,
  ) {
    this.ticket = ticket;
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

  /** See {@link Runnable}. */
  resume(): void {
    if (this.#state !== 'queued') return;
    this.#state = 'waiting';
    const step = this.#source.next();
    if (step instanceof Promise) void step.then((settled) => this.#take(settled));
    else this.#take(step);
  }

  #take(step: StreamStep): void {
    if (this.#state === 'over') return;
    if (typeof step !== 'string') {
      this.#state = 'over';
      // A generator that was told to end may do so in any way: what counts is that it was told.
      this.#outlet.end(this.#draining === undefined ? this.#capped(step) : drained(this.#draining));
      this.#outlet.closed?.();
      return;
    }
    // The next generator has its turn before this one goes on.
    this.#state = 'paused';
    if (textExceeds(step, this.#maxValueBytes)) {
      this.#state = 'over';
      this.#outlet.end(this.#tooLarge());
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

  #capped(end: Outcome): Outcome {
    return textExceeds(end.text, this.#maxValueBytes) ? this.#tooLarge() : end;
  }

  #tooLarge(): Outcome {
    return errorOutcome(ErrorCode.LimitExceeded, { limit: this.#maxValueBytes });
  }

  /** Ends the generator. Its signal first: `return()` waits behind a pending `await`, and runs no `finally` before. */
  #close(reason: RpcError | undefined): void {
    this.#state = 'over';
    if (reason !== undefined) this.#context.abort(reason);
    const closing = this.#queue.guarded(this, () => this.#source.close());
    if (closing === undefined) {
      this.#outlet.closed?.();
      return;
    }
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
