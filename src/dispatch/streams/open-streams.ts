import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { Vacancy } from '../../base/vacancy.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { Call } from '../call.ts';
import type { DeadlineSweep } from '../deadline.ts';
import { type Refusal, type TimeLimit, timeLimit } from '../limit.ts';
import type { CallObserver } from '../observer.ts';
import type { DrainReason, StreamSink } from './contract.ts';
import { drainRefusal, OpenStream, type StreamKeeper } from './open-stream.ts';

export interface StreamLimits {
  /** Most streams at the same time, of all loadings together. */
  readonly maxStreams: number;
  /** Milliseconds that a call may run where its procedure does not say. */
  readonly timeoutMs: number;
  /** Milliseconds that a stream may be open; 0: no limit. */
  readonly maxStreamMs: number;
}

/** How many streams a service has, all its loadings together. */
export interface StreamCount {
  open: number;
}

/** When to try again with too many streams open: nobody knows how long they will stay. */
export const retryStreamMs = 1000;

/** Why a call is refused while too many streams are open. */
export const tooManyStreams: Refusal = {
  code: ErrorCode.Overloaded,
  data: { retryAfterMs: retryStreamMs },
};

/** Streams that are told to end at a reload are told so within this time. */
const drainWithinMs = 1000;

/** The open streams of one loading of the modules. */
export class OpenStreams implements StreamKeeper {
  readonly observer: CallObserver | undefined;
  readonly #limits: StreamLimits;
  readonly #deadlines: DeadlineSweep;
  readonly #count: StreamCount;
  readonly #streams = new Set<OpenStream>();
  #draining: DrainReason | undefined;
  readonly #vacancy = new Vacancy();

  constructor(
    limits: StreamLimits,
    deadlines: DeadlineSweep,
    count: StreamCount,
    observer: CallObserver | undefined,
  ) {
    this.#limits = limits;
    this.#deadlines = deadlines;
    this.#count = count;
    this.observer = observer;
  }

  /** Why no more may open now: there are too many, or those that are open end. undefined: one may. */
  get refusal(): Refusal | undefined {
    if (this.#draining !== undefined) return drainRefusal(this.#draining);
    return this.#count.open >= this.#limits.maxStreams ? tooManyStreams : undefined;
  }

  [Symbol.iterator](): Iterator<OpenStream> {
    return this.#streams.values();
  }

  /** Takes the stream of a call in, whose handler has given an iterator. Its producer must be set next. */
  add(call: Call, sink: StreamSink, place: Place): OpenStream {
    const stream = new OpenStream(call, sink, place, this.#limitOf(call, sink), this);
    this.#streams.add(stream);
    this.#count.open++;
    call.scope.addListener(stream);
    if (stream.at !== Number.POSITIVE_INFINITY) this.#deadlines.add(stream);
    return stream;
  }

  /** See {@link StreamKeeper}. */
  leave(stream: OpenStream): void {
    if (!this.#streams.delete(stream)) return;
    this.#count.open--;
    stream.call.scope.removeListener(stream);
    this.#deadlines.delete(stream);
    if (this.#streams.size === 0) this.#vacancy.tell();
  }

  /**
   * Lets all streams come to their end, those that may finish by themselves, the others at their next yield; what is left
   * after `graceMs` is ended. No more may open. Resolves when none is left.
   *
   * @param spreadMs the streams are told within this time
   */
  async drain(reason: DrainReason, graceMs: number, spreadMs = drainWithinMs): Promise<void> {
    this.#draining = reason;
    const within = Math.min(spreadMs, graceMs);
    const stop = drainWithin(this.#streams, reason, within);
    if (this.#streams.size > 0 && graceMs > 0) await this.#vacancy.within(graceMs);
    stop();
    for (const stream of this.#streams) stream.cut(reason);
  }

  #limitOf(call: Call, { isCollected }: StreamSink): TimeLimit | undefined {
    const now = clockMs();
    const { maxStreamMs, timeoutMs } = this.#limits;
    if (isCollected === true) return timeLimit(call, timeoutMs, call.scope.receivedAt);
    const { callerTimeoutMs, receivedAt } = call.scope;
    const own = maxStreamMs === 0 ? undefined : { at: now + maxStreamMs, timeoutMs: maxStreamMs };
    if (callerTimeoutMs === undefined) return own;
    const callers = { at: receivedAt + callerTimeoutMs, timeoutMs: callerTimeoutMs };
    return own === undefined || callers.at <= own.at ? callers : own;
  }
}

/** Whether a stream is left to come to its own end where others are told to end. */
export function mayFinish({ call }: OpenStream): boolean {
  return call.procedure.stream?.drain === 'finish';
}

/**
 * Tells streams to end, all but those that may finish.
 *
 * @param withinMs each is told at a time of its own within it; 0: all are told now
 * @returns stops it for those that have not been told
 */
export function drainWithin(
  streams: Iterable<OpenStream>,
  reason: DrainReason,
  withinMs = drainWithinMs,
): () => void {
  const timers = new Set<NodeJS.Timeout>();
  for (const stream of streams) {
    if (mayFinish(stream)) continue;
    if (withinMs === 0) stream.drain(reason);
    else timers.add(setTimeout(() => stream.drain(reason), Math.random() * withinMs));
  }
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}
