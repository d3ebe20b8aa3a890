import { subscriptionNames } from '../../procedures/stream.ts';
import type { Procedure } from '../../procedures/types.ts';
import type { RpcError } from '../../protocol/errors.ts';
import type { Outcome, Reply } from '../../protocol/reply.ts';

/**
 * Streams: calls that give values before their result. Three parties take part:
 *
 *     reader                     OpenStream                  producer
 *     (a transport's host,  <--  one a stream, on the   <--  (a generator on this thread, or the
 *      a collector)         -->  main thread: counts,     -->   way to one in a worker)
 *                                limits, ends once
 *           value, end  <--                          <--  value, end
 *           grant, cancel -->                        -->  grant, cancel, drain
 *
 * The call of a streaming procedure is a call like any other until its handler has given an iterator: it is placed,
 * queued, limited, timed, reported, and may fail. Then the stream has **opened**, and the call is answered: its reply is
 * what the reader says. What comes later belongs to the stream. A producer gives values only against credit, and a stream
 * opens without any: nothing is produced before its reader asks.
 */

/** Takes the values of one stream. Made by the reader when the call comes. None of the methods may throw. */
export interface StreamSink {
  /** Whether the stream is read as part of its call: the call's own deadlines then hold for all of it. */
  readonly isCollected?: boolean;
  /**
   * The stream has opened. Nothing is produced before the reader grants something.
   *
   * @returns the reply of the call, such as the subscription's id. What is given back goes the way of any other reply
   */
  opened(flow: StreamFlow): Reply;
  /**
   * @param text JSON text of a value. In the order in which the values were yielded
   */
  value(text: string): void;
  /**
   * The stream has ended: its return value, or why it ended. Once for each stream that has opened, and nothing follows.
   * Never called where the reader itself has cancelled.
   */
  end(outcome: Outcome): void;
}

/** Why a service ends streams that could go on: the `data.reason` of their -32003. */
export type DrainReason = 'reload' | 'recycle' | 'shutdown';

/** The reader's hold on its stream. */
export interface StreamFlow {
  /**
   * Lets the stream yield so many values more, and so many characters of their texts. The stream pauses when either is
   * used up: the last value may exceed the characters.
   */
  grant(values: number, characters: number): void;
  /** Nobody reads any more: nothing follows, no end either. Idempotent; does nothing after the end. */
  cancel(): void;
  /** Ends it at its next yield, with -32003. For a reader in another process that ends. Idempotent, as `cancel`. */
  drain(reason: DrainReason): void;
}

/** What a reader is told of the call that asks for a stream. */
export interface StreamCall {
  readonly procedure: Procedure;
  /** JSON text of the id, exactly as it was written. A call without an id opens no stream. */
  readonly id: string | undefined;
}

/** Who reads the streams of a request. A transport puts one on the scope (`RequestScope.streams`). */
export interface StreamHost {
  /**
   * A call of a streaming procedure is about to be placed.
   *
   * @param isAlone it is the only call of its request
   * @returns the sink; the error of a refusal, where there are too many streams; undefined: this host can't read this one,
   *   which is collected then where its procedure allows that, and refused where not
   */
  accept(call: StreamCall, isAlone: boolean): StreamSink | Outcome | undefined;
  /**
   * Ends a subscription; undefined: this host has none, and `rpc.unsubscribe` is an unknown method.
   *
   * @param id as the reply of the subscribing call named it
   * @returns false where there is no such subscription
   */
  readonly unsubscribe?: ((id: string) => boolean) | undefined;
}

/** What makes the values of one stream, seen from the main thread. */
export interface StreamProducer {
  grant(values: number, characters: number): void;
  /** Nobody reads any more: the handler's signal aborts with `reason`, then the generator is closed. */
  cancel(reason: RpcError): void;
  /** The stream is to end: the handler's signal aborts with `reason`, and the stream ends with it at its next yield. */
  drain(reason: RpcError): void;
}

/** What a reader lets a stream make ahead of it: so many values, or so many characters, whichever comes first. */
export interface WindowLimits {
  readonly values: number;
  readonly characters: number;
}

/** The window that readers give a stream. */
export const streamWindow: WindowLimits = { values: 32, characters: 64 * 1024 };

/** The method of the notifications that bring the values of a call's stream. For transports, which know no router. */
export function notificationOf({ procedure }: StreamCall): string {
  return subscriptionNames(procedure).notification;
}
