import { clockMs } from '../../base/clock.ts';
import type { Place } from '../../base/place.ts';
import { cancelled, ownTimeoutMs, type Refusal } from '../../dispatch/limit.ts';
import type { QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { DrainReason, StreamSink } from '../../dispatch/streams/contract.ts';
import type { OpenStream } from '../../dispatch/streams/open-stream.ts';
import {
  drainWithin,
  mayFinish,
  type OpenStreams,
  tooManyStreams,
} from '../../dispatch/streams/open-streams.ts';
import { leftAfterMs } from '../../dispatch/streams/stream-run.ts';
import { ErrorCode, type LossReason } from '../../jsonrpc/errors.ts';
import { errorOutcome } from '../../jsonrpc/reply.ts';
import type { StreamCommand } from '../wire/messages.ts';
import { ItemKind } from '../wire/stream-item.ts';
import { PooledStream, type StreamHome } from './pooled-stream.ts';
import type { ReplicaThread } from './threads.ts';

/** Most generators that one worker may have, with those that were told to end and have not ended. */
const maxGenerators = 1024;

/** In place of the number of a stretch. */
const none = -1;

export interface WorkerStreamsOptions {
  readonly streams: OpenStreams;
  readonly place: Place;
  /** Milliseconds that a generator may hold the thread where its procedure does not say. */
  readonly timeoutMs: number;
}

/** The streams whose generators run on one worker, from their opening until their generators are gone. */
export class WorkerStreams implements StreamHome {
  readonly #thread: ReplicaThread;
  readonly #options: WorkerStreamsOptions;
  readonly #onGarbled: (detail: string) => void;
  readonly #streams = new Map<number, PooledStream>();
  #over = 0;
  /** Grants that were not posted yet, as in the message `grant`. */
  #grants: number[] = [];
  #isRetiring = false;
  #stopDraining: () => void = () => {};
  /** The number of the stretch that the last look found. */
  #lastStretch = none;

  /** @param onGarbled told of a message that no replica sends */
  constructor(
    thread: ReplicaThread,
    options: WorkerStreamsOptions,
    onGarbled: (detail: string) => void,
  ) {
    this.#thread = thread;
    this.#options = options;
    this.#onGarbled = onGarbled;
  }

  /** Streams that have not ended. */
  get open(): number {
    return this.#streams.size - this.#over;
  }

  /** Generators on the worker, with those of streams that have ended for their readers. */
  get generators(): number {
    return this.#streams.size;
  }

  /** The procedure whose generator a stretch is of; undefined: its stream is gone. */
  procedureOf(ticket: number): string | undefined {
    return this.#streams.get(ticket)?.stream.call.procedure.name;
  }

  get isFull(): boolean {
    return this.#streams.size >= maxGenerators;
  }

  /**
   * Whether so many generators were told to end long ago, and have not ended, that the worker must be replaced.
   *
   * @param limit so many are too many; half of the places are too many in any case
   */
  isSpent(now: number, limit: number): boolean {
    const most = Math.min(limit, maxGenerators / 2);
    if (this.#over < most) return false;
    let left = 0;
    for (const { overSince } of this.#streams.values()) {
      if (overSince !== undefined && now - overSince > leftAfterMs) left++;
    }
    return left >= most;
  }

  /**
   * The handler of a call has given an iterator: the call is answered with what its reader says.
   *
   * @param runUs microseconds since the handler was entered
   */
  enter(item: QueuedCall, sink: StreamSink, runUs: number): void {
    // A stream may stay open for days: the memory of its params is freed now.
    item.forgetParams();
    const { ticket, call } = item;
    const refusal = this.#refusal(item);
    if (refusal !== undefined) {
      // The reader may have left, or the call was answered at its deadline: nobody reads what the generator gives.
      this.tell({ type: 'cancel', ticket, code: refusal.code, data: refusal.data });
      item.refuse(refusal, runUs);
      return;
    }
    const { streams, place, timeoutMs } = this.#options;
    const stream = streams.add(call, sink, place);
    const pooled = new PooledStream(ticket, stream, ownTimeoutMs(call, timeoutMs), this);
    stream.producer = pooled;
    this.#streams.set(ticket, pooled);
    item.answer(sink.opened(stream), 0, runUs);
    if (this.#isRetiring && !mayFinish(stream)) stream.drain('recycle');
  }

  /**
   * Takes an item of a stream that the worker tells of; see `stream-item.ts`. Items of a stream that is not here are
   * ignored.
   *
   * @returns whether the stream has ended, or its generator is gone
   */
  take(ticket: number, code: number, number: number, kind: number, text: unknown): boolean {
    const pooled = this.#streams.get(-ticket);
    if (pooled === undefined) return false;
    if (typeof text !== 'string' || !isKind(kind) || !pooled.take(number, { kind, code, text })) {
      this.#onGarbled(`item ${number} of a stream, which it can not have`);
    }
    return kind !== ItemKind.value;
  }

  /**
   * Ends the stream whose generator holds the thread for longer than it may.
   *
   * @returns its procedure, for whose sake the thread must be killed
   */
  expire(now: number): string | undefined {
    const { stretch } = this.#thread.ledger;
    const isSame = stretch?.number === this.#lastStretch;
    this.#lastStretch = stretch?.number ?? none;
    const pooled = stretch && this.#streams.get(stretch.ticket);
    if (!isSame || pooled === undefined) return undefined;
    const { timeoutMs, stream } = pooled;
    if (now - stretch.since <= timeoutMs) return undefined;
    this.onOver(pooled);
    stream.end(errorOutcome(ErrorCode.DeadlineExceeded, { timeoutMs }));
    return stream.call.procedure.name;
  }

  /** The worker is to be replaced: its streams end at their next yields, those that may finish within `graceMs`. */
  retire(graceMs: number): void {
    this.#isRetiring = true;
    const stop = drainWithin(this.#openStreams(), 'recycle');
    const timer = setTimeout(() => this.cut('recycle'), graceMs).unref();
    this.#stopDraining = () => {
      stop();
      clearTimeout(timer);
    };
  }

  /** Ends all streams now. */
  cut(reason: DrainReason): void {
    for (const stream of this.#openStreams()) stream.cut(reason);
  }

  /** The thread is gone. */
  lose(reason: LossReason): void {
    this.#stopDraining();
    const streams = this.#openStreams();
    this.#streams.clear();
    this.#over = 0;
    for (const stream of streams) stream.lose(reason);
  }

  /** See {@link StreamHome}. */
  grant(ticket: number, values: number, characters: number): void {
    if (this.#grants.length === 0) process.nextTick(() => this.#postGrants());
    this.#grants.push(ticket, values, characters);
  }

  /** See {@link StreamHome}. */
  tell(command: StreamCommand): void {
    if (command.type === 'cancel') this.#thread.ledger.cancelStretch(command.ticket);
    this.#thread.post(command);
  }

  /** See {@link StreamHome}. */
  onOver(pooled: PooledStream): void {
    if (pooled.overSince !== undefined) return;
    pooled.overSince = clockMs();
    if (this.#streams.has(pooled.ticket)) this.#over++;
  }

  /** See {@link StreamHome}. */
  onClosed(pooled: PooledStream): void {
    // The end of a stream comes before this, except from a broken thread.
    this.onOver(pooled);
    if (this.#streams.delete(pooled.ticket)) this.#over--;
    if (!pooled.stream.isOver) pooled.stream.lose('error');
  }

  #postGrants(): void {
    const grants = this.#grants;
    this.#grants = [];
    this.#thread.post({ type: 'grant', grants });
  }

  #openStreams(): OpenStream[] {
    const streams: OpenStream[] = [];
    for (const { stream } of this.#streams.values()) if (!stream.isOver) streams.push(stream);
    return streams;
  }

  #refusal({ call, isAnswered }: QueuedCall): Refusal | undefined {
    if (isAnswered || call.scope.cancelled) return cancelled;
    return this.#options.streams.refusal ?? (this.isFull ? tooManyStreams : undefined);
  }
}

function isKind(kind: number): boolean {
  return Number.isInteger(kind) && kind >= ItemKind.value && kind <= ItemKind.closed;
}
