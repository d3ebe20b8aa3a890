import { remotePlace } from '../../../core/base/place.ts';
import { cancelled } from '../../../core/dispatch/call.ts';
import type { QueuedCall } from '../../../core/dispatch/queue/call-group.ts';
import type { StreamProducer, StreamSink } from '../../../core/dispatch/streams/contract.ts';
import type { OpenStream, OpenStreams } from '../../../core/dispatch/streams/open-streams.ts';
import type { ErrorCode, LossReason, RpcError } from '../../../core/protocol/errors.ts';
import { errorOutcome } from '../../../core/protocol/reply.ts';
import { ReplyKind, type WireReply } from '../wire.ts';
import type { MemberChannel } from './member-channel.ts';

/** The streams of this gateway whose generators run on one member, by the tickets of their calls. */
export class MemberStreams {
  readonly #streams: OpenStreams;
  readonly #channel: MemberChannel;
  readonly #open = new Map<number, RemoteStream>();
  /** Those that were granted more since the member was told last. */
  readonly #changed = new Set<RemoteStream>();
  /** Tickets of those that are to end. */
  readonly #drained = new Set<number>();

  constructor(streams: OpenStreams, channel: MemberChannel) {
    this.#streams = streams;
    this.#channel = channel;
  }

  /** Streams that have not ended. */
  get open(): number {
    return this.#open.size;
  }

  has(ticket: number): boolean {
    return this.#open.has(ticket);
  }

  /** See `ChannelOwner`. */
  granted(all: boolean): readonly number[] {
    const numbers: number[] = [];
    for (const { ticket, values, characters } of all ? this.#open.values() : this.#changed) {
      if (values > 0) numbers.push(ticket, values, characters);
    }
    this.#changed.clear();
    return numbers;
  }

  /** See `ChannelOwner`. */
  get drained(): readonly number[] {
    return [...this.#drained];
  }

  /**
   * The handler of a call has given an iterator: the call is answered with what its reader says.
   *
   * @param n the frame of the call
   */
  enter(item: QueuedCall, sink: StreamSink, n: number, runUs: number): void {
    // A stream may stay open for days: the memory of its params is freed now.
    item.forgetParams();
    const { call, ticket } = item;
    const isLeft = item.isAnswered || call.scope.cancelled;
    const refusal = isLeft ? cancelled : this.#streams.refusalOf(call.scope);
    if (refusal !== undefined) {
      this.#tellCancelled(ticket);
      item.refuse(refusal, runUs);
      return;
    }
    const stream = this.#streams.add(call, sink, remotePlace);
    const remote = new RemoteStream(ticket, n, stream, this);
    stream.producer = remote;
    this.#open.set(ticket, remote);
    item.answer(sink.opened(stream), 0, runUs);
  }

  /** Takes a value, or an end. A stream that is not here was cancelled: its member is told so again. */
  take({ ticket, kind, code, body }: WireReply): void {
    const remote = this.#open.get(ticket);
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    if (kind === ReplyKind.value) {
      if (remote === undefined) this.#tellCancelled(ticket);
      else remote.stream.value(text);
      return;
    }
    if (remote === undefined) return;
    this.#remove(remote);
    const { drained, stream } = remote;
    if (kind === ReplyKind.lost) stream.lose('connection');
    // One that was told to end may do so in any way: what counts is that it was told.
    else if (drained !== undefined) {
      stream.end(errorOutcome(drained.code as ErrorCode, drained.data));
    } else stream.end({ ok: kind === ReplyKind.ended, code, text });
  }

  /** More was granted to a stream. */
  onGranted(remote: RemoteStream): void {
    this.#changed.add(remote);
    this.#channel.sendAckSoon();
  }

  /** A stream is to end: its member ends it at its next yield, as a stream of its own. */
  onDrained({ ticket }: RemoteStream): void {
    this.#drained.add(ticket);
    this.#channel.sendAckSoon();
  }

  /** Nobody reads a stream any more. */
  onCancelled(remote: RemoteStream): void {
    if (this.#remove(remote)) this.#tellCancelled(remote.ticket);
  }

  /** @param before only those whose calls went in earlier frames */
  lose(reason: LossReason, before = Number.POSITIVE_INFINITY): void {
    for (const remote of this.#open.values()) {
      if (remote.n >= before) continue;
      this.#remove(remote);
      remote.stream.lose(reason);
    }
  }

  #remove(remote: RemoteStream): boolean {
    this.#changed.delete(remote);
    this.#drained.delete(remote.ticket);
    return this.#open.delete(remote.ticket);
  }

  #tellCancelled(ticket: number): void {
    this.#channel.cancel([ticket]);
    this.#channel.sendAckSoon();
  }
}

/** The gateway's side of one stream. */
class RemoteStream implements StreamProducer {
  readonly ticket: number;
  /** The frame of its call. */
  readonly n: number;
  readonly stream: OpenStream;
  readonly #streams: MemberStreams;
  /** What was granted, all in all. */
  values = 0;
  characters = 0;
  /** Why it was told to end; undefined: it was not. */
  drained: RpcError | undefined;

  constructor(ticket: number, n: number, stream: OpenStream, streams: MemberStreams) {
    this.ticket = ticket;
    this.n = n;
    this.stream = stream;
    this.#streams = streams;
  }

  grant(values: number, characters: number): void {
    this.values += values;
    this.characters += characters;
    this.#streams.onGranted(this);
  }

  cancel(): void {
    this.#streams.onCancelled(this);
  }

  drain(reason: RpcError): void {
    this.drained = reason;
    this.#streams.onDrained(this);
  }
}
