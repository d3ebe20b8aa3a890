import type { Hint } from './hints.ts';
import type { Answer, Call, Endpoint, Request } from './request.ts';

/** How requests travel, where that is not one fetch for each, and how streams are read: `sse()`, `webSocket()`. */
export type Transport = (endpoint: Endpoint) => {
  /** Absent: one POST for each request. */
  readonly send?: Send;
  readonly readable: Readable;
};

/** @throws RpcTransportError where no reply came, the signal's reason, what `headers` throws */
export type Send = (request: Request, signal: AbortSignal, expires: number) => Promise<Answer>;

/**
 * Makes of a call that is not sent yet a promise of its result that can be iterated instead.
 *
 * @param start rejects where its params can't be sent
 * @param send calls it, where nobody iterates
 */
export type Readable = (
  start: Promise<Call>,
  send: (call: Call) => Promise<unknown>,
  hint: Hint | undefined,
  options: StreamCallOptions | undefined,
) => Promise<unknown>;

/** The options of a call that is read as a stream. */
export interface StreamCallOptions<Value = unknown, Params = unknown> {
  /** Aborting it ends the stream: the loop throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that the stream may last. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * What to do when the connection is lost, or the server ends the stream to restart: `true` calls again with the same
   * params, a function with those that it makes of the last value that came. Default: the loop throws.
   */
  readonly reconnect?: true | ((last: Value | undefined) => Params) | undefined;
}
