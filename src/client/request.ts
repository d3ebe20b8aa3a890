import type { Hint } from './hints.ts';
import type { TransportFacts } from './outcome.ts';

/** The part of fetch that the client uses. The global fetch has this type. */
export type Fetch = (
  url: string,
  init: {
    readonly method: 'POST';
    readonly headers: Headers;
    readonly body: string;
    readonly signal: AbortSignal;
    readonly redirect: 'manual';
  },
) => Promise<FetchResponse>;

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** A ReadableStream of bytes. Streams alone need it. */
  readonly body?: unknown;
  text(): Promise<string>;
}

export type HeadersSource = ConstructorParameters<typeof Headers>[0];

export interface Endpoint {
  readonly url: string;
  readonly headers?: HeadersSource | (() => HeadersSource | Promise<HeadersSource>);
  readonly fetch?: Fetch | undefined;
}

export interface Call {
  readonly method: string;
  /** JSON text; undefined: no params. */
  readonly params: string | undefined;
  /** True: a notification. It is sent without an id and gets no reply. */
  readonly notify: boolean;
}

/** A request as it was sent. */
export interface Sent {
  /** Undefined: a notification. */
  readonly id: number | undefined;
  readonly method: string;
}

/** A request as it is sent: one call, or a batch. */
export interface Request {
  readonly sent: readonly Sent[];
  readonly body: string;
}

/** What came for a request. */
export interface Answer {
  /** The body, parsed or as JSON text; '' where there is none. */
  readonly reply: unknown;
  readonly facts: TransportFacts;
  /** A ReadableStream of bytes, where the reply is a stream. */
  readonly stream?: unknown;
}

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
