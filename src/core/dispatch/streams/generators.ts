import type { Place } from '../../base/place.ts';
import { runningCode } from '../../base/running-code.ts';
import type { ValueSource } from '../../procedures/invoke.ts';
import { standardError } from '../../protocol/errors.ts';
import type { Reply } from '../../protocol/reply.ts';
import { type Call, cancelled, type Refusal } from '../call.ts';
import type { Blocker } from '../call-trail.ts';
import type { OrphanCounts } from '../deadline.ts';
import type { FrontEndWatch } from '../front-end-watch.ts';
import type { StreamSink } from './contract.ts';
import type { OpenStreams } from './open-streams.ts';
import {
  type RunContext,
  type Runnable,
  RunQueue,
  type RunWatch,
  ranBy,
  StreamRun,
} from './stream-run.ts';

/** The generators of the main thread. */
export class Generators {
  readonly #streams: OpenStreams;
  readonly #orphans: OrphanCounts;
  readonly #place: Place;
  readonly #maxValueBytes: number;
  readonly #watch: PieceWatch | undefined;
  readonly #queue: RunQueue;

  /** @param watch finds who blocks this thread; undefined: nobody wants to know */
  constructor(
    streams: OpenStreams,
    orphans: OrphanCounts,
    place: Place,
    maxValueBytes: number,
    watch: FrontEndWatch | undefined,
  ) {
    this.#watch = watch && new PieceWatch(watch);
    this.#queue = new RunQueue(this.#watch);
    this.#streams = streams;
    this.#orphans = orphans;
    this.#place = place;
    this.#maxValueBytes = maxValueBytes;
  }

  /**
   * Opens the stream of a call whose handler has given an iterator.
   *
   * @param owner is told if the generator holds the thread
   * @param isClosed nothing may start any more
   * @returns the reply of the call, or why it has none: the iterator is closed then
   */
  open(
    call: Call,
    sink: StreamSink,
    context: RunContext,
    source: ValueSource,
    owner: Blocker,
    isClosed: boolean,
  ): { readonly reply: Reply } | { readonly refusal: Refusal } {
    const gone = isClosed || call.scope.cancelled;
    const refusal = gone ? cancelled : this.#streams.refusalOf(call.scope);
    if (refusal !== undefined) {
      context.abort(standardError(refusal.code, refusal.data));
      this.#orphans.addUntil(call.procedure.name, source.close());
      return { refusal };
    }
    const stream = this.#streams.add(call, sink, this.#place);
    const { trace } = call;
    // The span of the call is the current one while its generator runs, too.
    const traced = trace === undefined ? source : ranBy(source, (part) => trace.run(part));
    const onLeft = (ended: Promise<unknown>): void =>
      this.#orphans.addUntil(call.procedure.name, ended);
    const bytes = this.#maxValueBytes;
    const run = new StreamRun(traced, context, stream, bytes, this.#queue, 0, onLeft);
    stream.producer = run;
    this.#watch?.follow(run, owner);
    return { reply: sink.opened(stream) };
  }
}

/** Finds inline generators that hold this thread, in one piece or piece by piece. */
class PieceWatch implements RunWatch {
  readonly #watch: FrontEndWatch;
  readonly #owners = new WeakMap<Runnable, Blocker>();
  #owner: Blocker | undefined;
  /** A generator is closed within its own piece. */
  #depth = 0;
  #from = 0;
  #lag = 0;
  #claimed = 0;
  #outer = 0;

  constructor(watch: FrontEndWatch) {
    this.#watch = watch;
  }

  /** @param owner is told if the generator of `run` holds the thread */
  follow(run: Runnable, owner: Blocker): void {
    this.#owners.set(run, owner);
  }

  enter(run: Runnable, now: number): void {
    this.#owner = this.#owners.get(run);
    const outer = runningCode.enter(this.#owner?.slot ?? 0);
    if (this.#depth++ === 0) this.#outer = outer;
    this.#from = now;
    this.#lag = this.#watch.lagAt(now);
    this.#claimed = this.#watch.claimedMs;
  }

  leave(): void {
    if (--this.#depth === 0) runningCode.leave(this.#outer);
    const owner = this.#owner;
    if (owner !== undefined) {
      this.#watch.endedPiece(owner, this.#from, this.#lag, this.#claimed);
    }
  }
}
