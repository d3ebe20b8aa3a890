import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { Vacancy } from '../../base/timer.ts';
import { ErrorCode, type LossReason, type RpcError, standardError } from '../../protocol/errors.ts';
import { errorOutcome, type Outcome } from '../../protocol/reply.ts';
import {
  type Call,
  type CallObserver,
  lostCall,
  overloaded,
  type Refusal,
  type TimeLimit,
  timeLimit,
} from '../call.ts';
import type { Deadline, DeadlineSweep } from '../deadline.ts';
import type { CancelListener, RequestScope } from '../scope.ts';
import type { Account, Holder, Share } from '../share.ts';
import type { DrainReason, StreamFlow, StreamProducer, StreamSink } from './contract.ts';

/** Clients are told to come back at a random time within so long, milliseconds. */
const comeBackWithinMs = 1000;

/** The stream of one call on the main thread: between its reader and what produces it. It ends once. */
export class OpenStream implements StreamFlow, Deadline, CancelListener, Holder<RequestScope> {
  readonly call: Call;
  readonly place: Place;
  /** When it must have ended, by `clockMs`; Infinity: it has no limit. */
  readonly at: number;
  readonly amount = 1;
  slot: number | undefined = undefined;
  account: Account | undefined = undefined;
  values = 0;
  /** Of the texts of its values. */
  characters = 0;
  readonly #openedAt = clockMs();
  readonly #limit: TimeLimit | undefined;
  readonly #sink: StreamSink;
  readonly #keeper: OpenStreams;
  #producer: StreamProducer | undefined;
  #isOver = false;

  /** @param limit when it must have ended; undefined: it may go on */
  constructor(
    call: Call,
    sink: StreamSink,
    place: Place,
    limit: TimeLimit | undefined,
    keeper: OpenStreams,
  ) {
    this.call = call;
    this.place = place;
    this.at = limit?.at ?? Number.POSITIVE_INFINITY;
    this.#limit = limit;
    this.#sink = sink;
    this.#keeper = keeper;
  }

  get scope(): RequestScope {
    return this.call.scope;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Set once, before anything is granted. */
  set producer(producer: StreamProducer) {
    this.#producer = producer;
  }

  value(text: string): void {
    if (this.#isOver) return;
    this.values++;
    this.characters += text.length;
    this.#sink.value(text);
  }

  /** The producer ended the stream, or was lost. */
  end(outcome: Outcome): void {
    if (!this.#leave(outcome.code)) return;
    this.#sink.end(outcome);
  }

  /** The thread of its generator is gone, or given up. */
  lose(reason: LossReason): void {
    const { code, data } = lostCall(this.call, reason);
    this.end(errorOutcome(code, data));
  }

  grant(values: number, characters: number): void {
    if (!this.#isOver) this.#producer?.grant(values, characters);
  }

  cancel(): void {
    if (!this.#leave(ErrorCode.Cancelled)) return;
    this.#producer?.cancel(standardError(ErrorCode.Cancelled));
  }

  onCancelled(): void {
    this.#stop(standardError(ErrorCode.Cancelled));
  }

  expire(): void {
    this.#stop(
      standardError(ErrorCode.DeadlineExceeded, { timeoutMs: this.#limit?.timeoutMs ?? 0 }),
    );
  }

  shutdown(): void {
    this.#stop(drainError('shutdown'));
  }

  drain(reason: DrainReason): void {
    if (!this.#isOver) this.#producer?.drain(drainError(reason));
  }

  /** Ends it now: the grace of a drain is over. */
  cut(reason: DrainReason): void {
    this.#stop(drainError(reason));
  }

  #stop(reason: RpcError): void {
    if (!this.#leave(reason.code)) return;
    this.#producer?.cancel(reason);
    this.#sink.end(errorOutcome(reason.code as ErrorCode, reason.data));
  }

  /** @returns false where it is over already */
  #leave(code: number): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#keeper.leave(this);
    const ms = clockMs() - this.#openedAt;
    this.#keeper.observer?.onStreamEnd?.(
      this.call,
      code,
      this.place,
      this.values,
      this.characters,
      ms,
    );
    return true;
  }
}

/**
 * Why a stream that could go on ends. Its client is told when to come back: at a random time, so that not all clients
 * come at once.
 */
function drainRefusal(reason: DrainReason): Refusal {
  const retryAfterMs = Math.floor(Math.random() * comeBackWithinMs);
  return { code: ErrorCode.Cancelled, data: { reason, retryAfterMs } };
}

function drainError(reason: DrainReason): RpcError {
  const { code, data } = drainRefusal(reason);
  return standardError(code, data);
}

export interface StreamLimits {
  /** Milliseconds that a call may run where its procedure does not say. */
  readonly timeoutMs: number;
  /** Milliseconds that a stream may be open; 0: no limit. */
  readonly maxStreamMs: number;
}

/** Streams that are told to end at a reload are told so within this time, milliseconds. */
const drainWithinMs = 1000;

/** The open streams of one loading of the modules. */
export class OpenStreams {
  readonly observer: CallObserver | undefined;
  readonly #limits: StreamLimits;
  readonly #deadlines: DeadlineSweep;
  /** Of the option `maxStreams`, all loadings together. */
  readonly #share: Share<RequestScope>;
  readonly #streams = new Set<OpenStream>();
  #draining: DrainReason | undefined;
  readonly #vacancy = new Vacancy();

  constructor(
    limits: StreamLimits,
    deadlines: DeadlineSweep,
    share: Share<RequestScope>,
    observer: CallObserver | undefined,
  ) {
    this.#limits = limits;
    this.#deadlines = deadlines;
    this.#share = share;
    this.observer = observer;
  }

  /**
   * Why the caller of a request may open no more now: there are too many, or those that are open end. undefined: it may
   * open one.
   */
  refusalOf(scope: RequestScope): Refusal | undefined {
    if (this.#draining !== undefined) return drainRefusal(this.#draining);
    const denial = this.#share.denial(scope);
    return denial && overloaded(denial === 'share' ? 'streamShare' : 'openStreams');
  }

  [Symbol.iterator](): Iterator<OpenStream> {
    return this.#streams.values();
  }

  /** Takes the stream of a call in, whose handler has given an iterator. Its producer must be set next. */
  add(call: Call, sink: StreamSink, place: Place): OpenStream {
    const stream = new OpenStream(call, sink, place, this.#limitOf(call, sink), this);
    this.#streams.add(stream);
    this.#share.take(stream);
    call.scope.addListener(stream);
    if (stream.at !== Number.POSITIVE_INFINITY) this.#deadlines.add(stream);
    return stream;
  }

  /** Called once for each stream, when it is over. */
  leave(stream: OpenStream): void {
    if (!this.#streams.delete(stream)) return;
    this.#share.give(stream);
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
