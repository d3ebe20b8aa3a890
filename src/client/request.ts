import type { TransportFacts } from './errors.ts';

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
