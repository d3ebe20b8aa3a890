import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { ErrorCode, type LossReason, type RpcError, standardError } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../../jsonrpc/reply.ts';
import type { Call } from '../call.ts';
import type { Deadline } from '../deadline.ts';
import { lostCall, type Refusal, type TimeLimit } from '../limit.ts';
import type { CallObserver } from '../observer.ts';
import type { CancelListener } from '../scope.ts';
import type { DrainReason, StreamFlow, StreamProducer, StreamSink } from './contract.ts';

/** Clients are told to come back at a random time within so long, milliseconds. */
const comeBackWithinMs = 1000;

/** What keeps the streams of one loading of the modules. */
export interface StreamKeeper {
  readonly observer: CallObserver | undefined;
  /** Called once for each stream, when it is over. */
  leave(stream: OpenStream): void;
}

/** The stream of one call on the front end: between its reader and what produces it. It ends once. */
export class OpenStream implements StreamFlow, Deadline, CancelListener {
  readonly call: Call;
  readonly place: Place;
  /** When it must have ended, by `clockMs`; Infinity: it has no limit. */
  readonly at: number;
  values = 0;
  /** Of the texts of its values. */
  characters = 0;
  readonly #openedAt = clockMs();
  readonly #limit: TimeLimit | undefined;
  readonly #sink: StreamSink;
  readonly #keeper: StreamKeeper;
  #producer: StreamProducer | undefined;
  #isOver = false;

  /** @param limit when it must have ended; undefined: it may go on */
  constructor(
    call: Call,
    sink: StreamSink,
    place: Place,
    limit: TimeLimit | undefined,
    keeper: StreamKeeper,
  ) {
    this.call = call;
    this.place = place;
    this.at = limit?.at ?? Number.POSITIVE_INFINITY;
    this.#limit = limit;
    this.#sink = sink;
    this.#keeper = keeper;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Set once, before anything is granted. */
  set producer(producer: StreamProducer) {
    this.#producer = producer;
  }

  /** The producer gave a value. */
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

  /** See {@link StreamFlow}. */
  grant(values: number, characters: number): void {
    if (!this.#isOver) this.#producer?.grant(values, characters);
  }

  /** See {@link StreamFlow}. */
  cancel(): void {
    if (!this.#leave(ErrorCode.Cancelled)) return;
    this.#producer?.cancel(standardError(ErrorCode.Cancelled));
  }

  /** The caller of its request has gone. */
  onCancelled(): void {
    this.#stop(standardError(ErrorCode.Cancelled));
  }

  /** See {@link Deadline}. */
  expire(): void {
    this.#stop(
      standardError(ErrorCode.DeadlineExceeded, { timeoutMs: this.#limit?.timeoutMs ?? 0 }),
    );
  }

  /** See {@link Deadline}. */
  shutdown(): void {
    this.#stop(drainError('shutdown'));
  }

  /** See {@link StreamFlow}. */
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
export function drainRefusal(reason: DrainReason): Refusal {
  const retryAfterMs = Math.floor(Math.random() * comeBackWithinMs);
  return { code: ErrorCode.Cancelled, data: { reason, retryAfterMs } };
}

function drainError(reason: DrainReason): RpcError {
  const { code, data } = drainRefusal(reason);
  return standardError(code, data);
}
