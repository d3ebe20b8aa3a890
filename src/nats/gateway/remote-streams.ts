import { remotePlace } from '../../base/place.ts';
import { cancelled } from '../../dispatch/limit.ts';
import type { QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { StreamProducer, StreamSink } from '../../dispatch/streams/contract.ts';
import type { OpenStream } from '../../dispatch/streams/open-stream.ts';
import type { OpenStreams } from '../../dispatch/streams/open-streams.ts';
import type { ErrorCode, LossReason, RpcError } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../../jsonrpc/reply.ts';
import { ReplyKind, type WireReply } from '../wire/to-gateway.ts';

/** What streams need of the way to their member. */
export interface StreamChannel {
  cancel(tickets: readonly number[]): void;
  sendAckSoon(): void;
}

/** The gateway's side of a stream whose generator runs on a member. */
class RemoteStream implements StreamProducer {
  readonly ticket: number;
  /** The frame of its call. */
  readonly n: number;
  readonly stream: OpenStream;
  readonly #owner: RemoteStreams;
  /** What was granted, all in all. */
  values = 0;
  characters = 0;
  /** Why it was told to end; undefined: it was not. */
  drained: RpcError | undefined;

  constructor(ticket: number, n: number, stream: OpenStream, owner: RemoteStreams) {
    this.ticket = ticket;
    this.n = n;
    this.stream = stream;
    this.#owner = owner;
  }

  grant(values: number, characters: number): void {
    this.values += values;
    this.characters += characters;
    this.#owner.onGranted(this);
  }

  cancel(): void {
    this.#owner.cancel(this.ticket);
  }

  /** Its member ends it at its next yield, as a stream of its own. */
  drain(reason: RpcError): void {
    this.drained = reason;
    this.#owner.onDrained(this);
  }

  /** It has ended there. One that was told to end may do so in any way: what counts is that it was told. */
  end(outcome: Outcome): void {
    const { drained } = this;
    const told = drained && errorOutcome(drained.code as ErrorCode, drained.data);
    this.stream.end(told ?? outcome);
  }
}

/** The streams of one member, by the tickets of their calls. */
export class RemoteStreams {
  readonly #open: OpenStreams;
  readonly #channel: () => StreamChannel;
  readonly #streams = new Map<number, RemoteStream>();
  /** Those that were granted more since the member was told last. */
  readonly #changed = new Set<RemoteStream>();
  /** Tickets of those that are to end. */
  readonly #drained = new Set<number>();

  constructor(open: OpenStreams, channel: () => StreamChannel) {
    this.#open = open;
    this.#channel = channel;
  }

  get size(): number {
    return this.#streams.size;
  }

  has(ticket: number): boolean {
    return this.#streams.has(ticket);
  }

  /** See `ChannelOwner.granted`. */
  granted(all: boolean): readonly number[] {
    const numbers: number[] = [];
    for (const { ticket, values, characters } of all ? this.#streams.values() : this.#changed) {
      if (values > 0) numbers.push(ticket, values, characters);
    }
    this.#changed.clear();
    return numbers;
  }

  /** See `ChannelOwner.drained`. */
  get drained(): readonly number[] {
    return [...this.#drained];
  }

  /** The handler of a call has given an iterator: the call is answered with what its reader says. */
  enter(item: QueuedCall, sink: StreamSink, n: number, runUs: number): void {
    item.forgetParams();
    const { call, ticket } = item;
    const isLeft = item.isAnswered || call.scope.cancelled;
    const refusal = isLeft ? cancelled : this.#open.refusal;
    if (refusal !== undefined) {
      this.#tell(ticket);
      item.refuse(refusal, runUs);
      return;
    }
    const stream = this.#open.add(call, sink, remotePlace);
    const remote = new RemoteStream(ticket, n, stream, this);
    stream.producer = remote;
    this.#streams.set(ticket, remote);
    item.answer(sink.opened(stream), 0, runUs);
  }

  /** Takes a value, or an end. A stream that is not here was cancelled: its member is told so again. */
  take({ ticket, kind, code, body }: WireReply): void {
    const remote = this.#streams.get(ticket);
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    if (kind === ReplyKind.value) {
      if (remote === undefined) this.#tell(ticket);
      else remote.stream.value(text);
    } else {
      this.#remove(ticket);
      if (kind === ReplyKind.lost) remote?.stream.lose('connection');
      else remote?.end({ ok: kind === ReplyKind.ended, code, text });
    }
  }

  /** Nobody reads it any more. */
  cancel(ticket: number): void {
    if (this.#remove(ticket)) this.#tell(ticket);
  }

  onGranted(stream: RemoteStream): void {
    this.#changed.add(stream);
    this.#channel().sendAckSoon();
  }

  onDrained({ ticket }: RemoteStream): void {
    this.#drained.add(ticket);
    this.#channel().sendAckSoon();
  }

  /** @param before only those whose calls went in earlier frames */
  lose(reason: LossReason, before = Number.POSITIVE_INFINITY): void {
    for (const [ticket, { n, stream }] of this.#streams) {
      if (n >= before) continue;
      this.#remove(ticket);
      stream.lose(reason);
    }
  }

  #remove(ticket: number): boolean {
    const stream = this.#streams.get(ticket);
    if (stream === undefined) return false;
    this.#changed.delete(stream);
    this.#drained.delete(ticket);
    return this.#streams.delete(ticket);
  }

  #tell(ticket: number): void {
    const channel = this.#channel();
    channel.cancel([ticket]);
    channel.sendAckSoon();
  }
}
