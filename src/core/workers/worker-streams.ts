import { clockMs } from '../base/clock.ts';
import { placeOfGroup } from '../base/place.ts';
import { type Call, cancelled, overloaded, ownTimeoutMs, type Refusal } from '../dispatch/call.ts';
import type { QueuedCall } from '../dispatch/queue/queued-call.ts';
import type { DrainReason, StreamProducer, StreamSink } from '../dispatch/streams/contract.ts';
import { drainWithin, mayFinish, type OpenStream } from '../dispatch/streams/open-streams.ts';
import { leftAfterMs } from '../dispatch/streams/stream-run.ts';
import { ErrorCode, type LossReason, type RpcError } from '../protocol/errors.ts';
import { errorOutcome } from '../protocol/reply.ts';
import type { PoolOptions, WorkerThread } from './options.ts';
import { ItemKind, type StreamCommand } from './wire/messages.ts';

/** Most generators that one worker may have, with those that were told to end and have not ended. */
const maxGenerators = 1024;

type StreamOptions = Pick<PoolOptions, 'streams' | 'group' | 'timeoutMs'>;

interface Item {
  readonly kind: number;
  readonly code: number;
  readonly text: string;
}

/** The main thread's side of a stream whose generator runs in a worker. */
class PooledStream implements StreamProducer {
  readonly ticket: number;
  readonly stream: OpenStream;
  /** The call that opened it. */
  readonly item: QueuedCall;
  /** Milliseconds that its generator may hold the thread without a break. */
  readonly timeoutMs: number;
  /** Since when nobody reads the generator's values, by `clockMs`; undefined: somebody does. */
  overSince: number | undefined;
  readonly #worker: WorkerStreams;
  /** Values that were granted so far. */
  #granted = 0;
  /** The number of the item that is due. `#early`: items that came before their turn. */
  #next = 0;
  #early: Map<number, Item> | undefined;

  constructor(item: QueuedCall, stream: OpenStream, timeoutMs: number, worker: WorkerStreams) {
    this.ticket = item.ticket;
    this.item = item;
    this.stream = stream;
    this.timeoutMs = timeoutMs;
    this.#worker = worker;
  }

  grant(values: number, characters: number): void {
    this.#granted += values;
    this.#worker.grant(this.ticket, values, characters);
  }

  cancel({ code, data }: RpcError): void {
    this.#worker.onOver(this);
    this.#worker.post({ type: 'cancel', ticket: this.ticket, code, data });
  }

  drain({ code, data }: RpcError): void {
    this.#worker.post({ type: 'drain', ticket: this.ticket, code, data });
  }

  /** Takes an item of the worker. Returns false for an item that can't be. */
  take(number: number, item: Item): boolean {
    // Two items come beside the granted values: the end, and the message that the generator is gone.
    if (!Number.isSafeInteger(number) || number < this.#next || number > this.#granted + 1) {
      return false;
    }
    if (number > this.#next) {
      this.#early ??= new Map();
      this.#early.set(number, item);
      return true;
    }
    let next: Item | undefined = item;
    while (next !== undefined) {
      this.#next++;
      this.#apply(next);
      next = this.#early?.get(this.#next);
      this.#early?.delete(this.#next);
    }
    return true;
  }

  #apply({ kind, code, text }: Item): void {
    switch (kind) {
      case ItemKind.value:
        this.stream.value(text);
        break;
      case ItemKind.closed:
        this.#worker.onClosed(this);
        break;
      default:
        this.#worker.onOver(this);
        this.stream.end({ ok: kind === ItemKind.result, code, text });
    }
  }
}

/** The streams whose generators run on one worker, from their opening until their generators are gone. */
export class WorkerStreams {
  readonly #thread: WorkerThread;
  readonly #options: StreamOptions;
  readonly #onGarbled: (detail: string) => void;
  readonly #streams = new Map<number, PooledStream>();
  #over = 0;
  /** Grants that were not posted yet, as in the message `grant`. */
  #grants: number[] = [];
  #isRetiring = false;
  #stopDraining: () => void = () => {};
  /** The number of the stretch that the last look found. */
  #lastStretch: number | undefined;

  /** @param onGarbled called for a message that no replica sends */
  constructor(thread: WorkerThread, options: StreamOptions, onGarbled: (detail: string) => void) {
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

  /** The call whose generator a stretch is of; undefined: its stream is gone. */
  callOf(ticket: number): Call | undefined {
    return this.#streams.get(ticket)?.stream.call;
  }

  /** The procedures of all streams here. */
  get names(): string[] {
    return Array.from(this.#streams.values(), ({ stream }) => stream.call.procedure.name);
  }

  get isFull(): boolean {
    return this.#streams.size >= maxGenerators;
  }

  /**
   * Whether so many generators were told to end long ago, and have not ended, that the worker must be replaced: one of them, if it
   * holds a place of its procedure's `maxConcurrency`.
   */
  isSpent(now: number): boolean {
    if (this.#over === 0) return false;
    let left = 0;
    for (const { overSince, item } of this.#streams.values()) {
      if (overSince === undefined || now - overSince <= leftAfterMs) continue;
      if (item.isAtWorker) return true;
      left++;
    }
    return left >= maxGenerators / 2;
  }

  /**
   * The handler of a call has given an iterator: the call is answered with what its reader says.
   *
   * @param runUs microseconds since the handler was entered
   * @param busyUs microseconds of them that the handler held the thread
   */
  enter(item: QueuedCall, sink: StreamSink, runUs: number, busyUs: number): void {
    // A stream may stay open for days: the memory of its params is freed now.
    item.forgetParams();
    const { ticket, call } = item;
    const refusal = this.#refusal(item);
    if (refusal !== undefined) {
      // The reader may have left, or the call was answered at its deadline: nobody reads what the generator gives.
      this.post({ type: 'cancel', ticket, code: refusal.code, data: refusal.data });
      item.refuse(refusal, runUs, busyUs);
      return;
    }
    const { streams, group, timeoutMs } = this.#options;
    const stream = streams.add(call, sink, placeOfGroup(group));
    const pooled = new PooledStream(item, stream, ownTimeoutMs(call, timeoutMs), this);
    stream.producer = pooled;
    this.#streams.set(ticket, pooled);
    item.enterWorker();
    item.answer(sink.opened(stream), 0, runUs, busyUs);
    if (this.#isRetiring && !mayFinish(stream)) stream.drain('recycle');
  }

  /**
   * Takes an item of the worker; see `ItemKind`. Items of a stream that is not here are ignored.
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

  /** Ends the stream whose generator holds the thread too long. Returns its procedure: the thread must be killed. */
  expire(now: number): string | undefined {
    const { stretch } = this.#thread.ledger;
    const isSame = stretch?.number === this.#lastStretch;
    this.#lastStretch = stretch?.number;
    const pooled = stretch && this.#streams.get(stretch.ticket);
    if (stretch === undefined || !isSame || pooled === undefined) return undefined;
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
    for (const { item } of this.#streams.values()) item.leaveWorker();
    this.#streams.clear();
    this.#over = 0;
    for (const stream of streams) stream.lose(reason);
  }

  grant(ticket: number, values: number, characters: number): void {
    if (this.#grants.length === 0) {
      process.nextTick(() => {
        const grants = this.#grants;
        this.#grants = [];
        this.#thread.post({ type: 'grant', grants });
      });
    }
    this.#grants.push(ticket, values, characters);
  }

  post(command: StreamCommand): void {
    if (command.type === 'cancel') this.#thread.ledger.cancelStretch(command.ticket);
    this.#thread.post(command);
  }

  /** The stream has ended for its reader. Its generator may go on. */
  onOver(pooled: PooledStream): void {
    if (pooled.overSince !== undefined) return;
    pooled.overSince = clockMs();
    if (this.#streams.has(pooled.ticket)) this.#over++;
  }

  /** The generator of a stream is gone. */
  onClosed(pooled: PooledStream): void {
    // The end of a stream comes before this, except from a broken thread.
    this.onOver(pooled);
    if (this.#streams.delete(pooled.ticket)) this.#over--;
    pooled.item.leaveWorker();
    if (!pooled.stream.isOver) pooled.stream.lose('error');
  }

  #openStreams(): OpenStream[] {
    const streams: OpenStream[] = [];
    for (const { stream } of this.#streams.values()) if (!stream.isOver) streams.push(stream);
    return streams;
  }

  #refusal({ call, isAnswered }: QueuedCall): Refusal | undefined {
    if (isAnswered || call.scope.cancelled) return cancelled;
    const refusal = this.#options.streams.refusalOf(call.scope);
    return refusal ?? (this.isFull ? overloaded('generators') : undefined);
  }
}

function isKind(kind: number): boolean {
  return Number.isInteger(kind) && kind >= ItemKind.value && kind <= ItemKind.closed;
}
