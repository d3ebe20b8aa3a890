import type { Place } from '../../base/place.ts';
import { standardError } from '../../jsonrpc/errors.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { ValueSource } from '../../router/stream/value-source.ts';
import type { Call } from '../call.ts';
import { cancelled, type Refusal } from '../limit.ts';
import type { StreamSink } from './contract.ts';
import type { OpenStreams } from './open-streams.ts';
import { RunQueue } from './run-queue.ts';
import { type RunContext, ranBy, StreamRun } from './stream-run.ts';

/** The generators of the front end. */
export class Generators {
  readonly #streams: OpenStreams;
  readonly #place: Place;
  readonly #maxValueBytes: number;
  readonly #queue = new RunQueue();

  constructor(streams: OpenStreams, place: Place, maxValueBytes: number) {
    this.#streams = streams;
    this.#place = place;
    this.#maxValueBytes = maxValueBytes;
  }

  /**
   * Opens the stream of a call whose handler has given an iterator.
   *
   * @param isClosed nothing may start any more
   * @returns the reply of the call, or why it has none: the iterator is closed then
   */
  open(
    call: Call,
    sink: StreamSink,
    context: RunContext,
    source: ValueSource,
    isClosed: boolean,
  ): { readonly reply: Reply } | { readonly refusal: Refusal } {
    const gone = isClosed || call.scope.cancelled;
    const refusal = gone ? cancelled : this.#streams.refusal;
    if (refusal !== undefined) {
      context.abort(standardError(refusal.code, refusal.data));
      void source.close();
      return { refusal };
    }
    const stream = this.#streams.add(call, sink, this.#place);
    const { trace } = call;
    // The span of the call is the current one while its generator runs, too.
    const traced = trace === undefined ? source : ranBy(source, (part) => trace.run(part));
    stream.producer = new StreamRun(traced, context, stream, this.#maxValueBytes, this.#queue);
    return { reply: sink.opened(stream) };
  }
}
