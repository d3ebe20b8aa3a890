import type { Hint } from './hints.ts';
import { type Outcome, RpcError, RpcTransportError, type TransportFacts } from './outcome.ts';

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
  /** Of the span that was current when the call was made, as the program says; not checked. */
  readonly traceparent?: string | undefined;
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
  /** That of the first call. */
  readonly traceparent?: string | undefined;
}

/** What came for a request. */
export interface Answer {
  /** The body, parsed or as JSON text; '' if there is none. */
  readonly reply: unknown;
  readonly facts: TransportFacts;
  /** A ReadableStream of bytes, if the reply is a stream. */
  readonly stream?: unknown;
}

/** How requests travel, if not by one fetch for each, and how streams are read: `sse()`, `webSocket()`. */
export type Transport = (endpoint: Endpoint) => {
  /** Absent: one POST for each request. */
  readonly send?: Send;
  readonly readable: Readable;
};

/** @throws RpcTransportError if no reply came, the signal's reason, what `headers` throws */
export type Send = (request: Request, signal: AbortSignal, expires: number) => Promise<Answer>;

/**
 * Makes of a call that is not sent yet a promise of its result that can be iterated instead.
 *
 * @param start rejects if its params can't be sent
 * @param send calls it, if nobody iterates
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

/**
 * Sends calls in one request, several calls as a batch. Returns an outcome for each, in the order of the calls.
 *
 * @param expires when the callers stop waiting, by performance.now(); Infinity: never
 * @throws the signal's reason, what `headers` throws
 */
export type Exchange = (
  calls: readonly Call[],
  signal: AbortSignal,
  expires: number,
) => Promise<Outcome[]>;

export function createExchange(send: Send): Exchange {
  return async (calls, signal, expires) => {
    const request = toRequest(calls);
    try {
      return readReplies(request.sent, await send(request, signal, expires));
    } catch (error) {
      if (!(error instanceof RpcTransportError)) throw error;
      return calls.map(() => ({ ok: false, error }));
    }
  };
}

/** One counter for the whole program, so that an id in a log names one request. */
let lastId = 0;

export function toRequest(calls: readonly Call[]): Request {
  const texts: string[] = [];
  const sent = calls.map(({ method, params, notify }) => {
    const id = notify ? undefined : ++lastId;
    const head = JSON.stringify({ jsonrpc: '2.0', id, method });
    texts.push(params === undefined ? head : `${head.slice(0, -1)},"params":${params}}`);
    return { method, id };
  });
  const body = texts.join();
  return {
    sent,
    body: calls.length === 1 ? body : `[${body}]`,
    traceparent: calls[0]?.traceparent,
  };
}

/**
 * W3C Trace Context: no zeros, no version ff, and nothing after the flags in version 00. Headers hold no other
 * characters than these at its end.
 */
const isTraceparent =
  /^(?!ff|00.{54})[\da-f]{2}-(?!0+-)[\da-f]{32}-(?!0+-)[\da-f]{16}-[\da-f]{2}(-[ -~]*)?$/;

type Facts = { -readonly [Name in keyof TransportFacts]: TransportFacts[Name] };

/**
 * One POST for a request, with the headers of the client.
 *
 * @param accept what is taken beside JSON, with a comma after it: a stream of events is given as it is, and not read here
 */
export async function post(
  { url, headers, fetch: given }: Endpoint,
  { body, traceparent }: Pick<Request, 'body' | 'traceparent'>,
  signal: AbortSignal,
  expires: number,
  accept = '',
): Promise<Answer> {
  const head = new Headers(typeof headers === 'function' ? await headers() : headers);
  signal.throwIfAborted();
  head.set('content-type', 'application/json');
  head.set('accept', `${accept}application/json`);
  if (traceparent && isTraceparent.test(traceparent)) head.set('traceparent', traceparent);
  if (expires < Infinity) {
    head.set('rpc-timeout-ms', `${Math.max(1, Math.ceil(expires - performance.now()))}`);
  }
  const facts: Facts = { url };
  let failure: string | undefined;
  let reply = '';
  try {
    // Redirects are not followed: fetch would turn the POST into a GET, or send the headers to another server.
    const init = { method: 'POST', headers: head, body, signal, redirect: 'manual' } as const;
    const response = await (given ?? fetch)(url, init);
    const { status, headers: answered } = response;
    facts.status = status;
    facts.contentType = answered.get('content-type') ?? undefined;
    if (accept && facts.contentType?.startsWith('text/event')) {
      return { reply, facts, stream: response.body };
    }
    facts.body = reply = await response.text();
    const target = answered.get('location');
    // In browsers the status of a redirect is 0, and its target is hidden.
    if (target !== null || status === 0) {
      failure = `redirects are not followed (to ${target ?? '?'})`;
    } else if (reply === '' && (status < 200 || status >= 300)) {
      failure = 'there is no reply';
    }
  } catch (cause) {
    facts.cause = cause;
    failure = reasonOf(cause);
  }
  if (failure !== undefined) throw new RpcTransportError(failure, facts);
  return { reply, facts };
}

/** The message of the error, and that of its cause: Node's fetch says only "fetch failed". */
function reasonOf(thrown: unknown): string {
  const inner = messageOf((thrown as Partial<Error> | null)?.cause);
  return `${messageOf(thrown) ?? String(thrown)}${inner ? `: ${inner}` : ''}`;
}

function messageOf(error: unknown): string | undefined {
  return (error as Partial<Error> | null | undefined)?.message;
}

/**
 * Assigns the replies in a response to the requests. If one reply is too many, has a wrong id or a wrong shape, the
 * whole response is refused: it is then doubtful which requests the other replies belong to.
 *
 * @throws RpcTransportError if none of it can be trusted
 * @returns an outcome for each request, in the order of the requests; the outcome of a notification has no result
 */
export function readReplies(sent: readonly Sent[], { reply, facts }: Answer): Outcome[] {
  const refuse = (why: string): RpcTransportError => new RpcTransportError(why, facts);
  let body: unknown = [];
  try {
    if (reply !== '') body = typeof reply === 'string' ? JSON.parse(reply) : reply;
  } catch {
    throw refuse('the response is not JSON');
  }
  // One error with the id null: the server could not, or would not, read the request. It answers all of its calls.
  if (idOf(body) === null) {
    const outcomes = sent.map(({ method }) => readOutcome(body, method));
    if (outcomes.every((outcome) => outcome?.ok === false)) return outcomes as Outcome[];
  }
  const replies = sent.length > 1 || reply === '' ? body : [body];
  if (!Array.isArray(replies)) throw refuse('the reply is not an array');

  // The method of each request, and then its outcome.
  const slots = new Map<unknown, string | Outcome>(sent.map(({ id, method }) => [id, method]));
  slots.set(undefined, { ok: true, result: undefined });
  for (const one of replies) {
    const id = idOf(one);
    const method = slots.get(id);
    if (typeof method !== 'string') {
      throw refuse(`a reply has an unknown id: ${JSON.stringify(id)}`.slice(0, 70));
    }
    const outcome = readOutcome(one, method);
    if (outcome === undefined) throw refuse('a reply is malformed');
    slots.set(id, outcome);
  }
  return sent.map(({ id }) => {
    const slot = slots.get(id);
    return typeof slot === 'object'
      ? slot
      : { ok: false, error: refuse(`there is no reply with id ${id}`) };
  });
}

function idOf(reply: unknown): unknown {
  return (reply as { id?: unknown } | null)?.id;
}

function readOutcome(reply: unknown, method: string): Outcome | undefined {
  const { result, error } = reply as { result?: unknown; error?: unknown };
  if ((result === undefined) === (error === undefined)) return undefined;
  if (error === undefined) return { ok: true, result };
  const { code, message, data } = (error ?? {}) as RpcError;
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { ok: false, error: new RpcError(code, message, data, method) };
}

/** The result of a request of one call. @throws its error */
export function resultOf([outcome]: readonly Outcome[]): unknown {
  if (outcome?.ok) return outcome.result;
  throw outcome?.error;
}
