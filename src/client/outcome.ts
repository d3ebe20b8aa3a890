import type { ContractError, ErrorIn, ErrorsOf, ResultOf } from './contract.ts';

/**
 * The error that the server answered a call with, or -32001 if the deadline passed in the client first.
 *
 * The server's RpcError is another class. A handler that calls another service and lets its error through must not
 * answer with it: "overloaded, the call never ran" was true of the other call, not of the handler's own.
 */
export class RpcError<Code extends number = number, Data = unknown> extends Error {
  override readonly name = 'RpcError';
  declare readonly code: Code;
  /** Undefined if the reply has none. */
  declare readonly data: Data;
  /** The procedure that was called. */
  declare readonly method: string;

  constructor(code: Code, message: string, data: Data, method: string) {
    super(message);
    this.code = code;
    this.data = data;
    this.method = method;
  }
}

/** What the client knows of a request that got no valid reply. */
export interface TransportFacts {
  readonly url: string;
  /** The HTTP status; undefined if no response came. */
  readonly status?: number | undefined;
  readonly contentType?: string | undefined;
  /** The first 200 characters of the body. */
  readonly body?: string | undefined;
  /** What fetch or reading the body threw. */
  readonly cause?: unknown;
}

/** The call got no valid reply: no connection, a response that is not JSON-RPC, wrong ids. */
export class RpcTransportError extends Error implements TransportFacts {
  override readonly name = 'RpcTransportError';
  /** None: so that the code of any error of a call can be read. */
  declare readonly code: undefined;
  declare readonly url: string;
  declare readonly status: number | undefined;
  declare readonly contentType: string | undefined;
  declare readonly body: string | undefined;

  /** @param why continues `<url>: ` */
  constructor(why: string, { cause, ...facts }: TransportFacts) {
    const { url, status, contentType = 'no content-type' } = facts;
    const body = facts.body?.slice(0, 200);
    // TLS to a server without it, or a URL of ws for fetch. A WebSocket takes a URL of http too.
    if (/wrong version|length too|unknown scheme/.test(why)) why = 'begin the URL with http:';
    const answer = status === undefined ? '' : ` (${status} ${contentType})`;
    const shown = body ? `: ${JSON.stringify(body)}` : '';
    super(`${url}${answer}: ${why}${shown}`, cause === undefined ? cause : { cause });
    Object.assign(this, facts, { body });
  }
}

/** Why a call was refused with -32000. The first three are limits of the caller's own, the others the service's. */
export type OverloadReason =
  | 'rate'
  | 'in-flight-per-caller'
  | 'share'
  | 'in-flight'
  | 'queue'
  | 'queue-time'
  | 'streams'
  | 'connection'
  | 'body-memory'
  | 'reply-memory'
  | 'orphans';

/** The data of a -32000 of the service itself: the call never ran. */
export interface OverloadData {
  readonly reason: OverloadReason;
  /** The option of the service that sets the limit. */
  readonly limit: string;
  readonly retryAfterMs: number;
  /** Only the service's own refusals have it. */
  readonly retry: true;
}

/**
 * The errors of `Union` with this code; if none is declared, an RpcError with data of any type. That of -32000 is known;
 * undefined: the server does not say why it refuses.
 */
export type WithCode<Union, Code extends number> = [Extract<Union, RpcError<Code>>] extends [never]
  ? RpcError<Code, Code extends -32000 ? OverloadData | undefined : unknown>
  : Extract<Union, RpcError<Code>>;

/** True for an RpcError with this code. Narrows a declared error to the type of its data. */
export function hasCode<Union, const Code extends number>(
  error: Union,
  code: Code,
): error is Union & WithCode<Union, Code> {
  return error instanceof RpcError && error.code === code;
}

/** How a call ended: its result, or its error. */
export type Outcome<Result = unknown, Failure = CallError> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: Failure };

/** The errors that any call may end with. */
export type CallError = RpcError | RpcTransportError;

/** The errors that a call of this contract entry may end with: the declared ones and all others. */
export type CallErrorOf<Entry> = Typed<ErrorIn<ErrorsOf<Entry>>> | CallError;

type Typed<Declared> = Declared extends ContractError
  ? RpcError<Declared['code'], Declared extends { readonly data: infer Data } ? Data : undefined>
  : never;

/** How a call of this contract entry ended. */
export type OutcomeOf<Entry> = Outcome<ReplyOf<Entry>, CallErrorOf<Entry>>;

/** What a batch gives of a stream depends on the server: an array of all values if it collects them. */
type ReplyOf<Entry> = Entry extends { readonly yields: unknown } ? unknown : ResultOf<Entry>;

/** A call that has not ended: a promise of its result. Its type has the declared errors by name too, for {@link settle}. */
export type Call<Result, Errors = never> = Promise<Result> & { readonly '~errors'?: Errors };

/**
 * A call of a stream, which is iterated: `for await (const value of client.ticks())`. What the stream returns at its end is
 * the `value` of the iterator's last `next()`. It can't be awaited: that would send it as a call that has one reply.
 */
export interface StreamCall<Value, Result = unknown> {
  [Symbol.asyncIterator](): AsyncGenerator<Value, Result, undefined>;
  /** Typed so that `await` is refused. */
  then(this: never, onfulfilled?: (value: never) => unknown): never;
}

/** What the compiler shows if a stream is iterated that nothing can read. */
export type AddStreams = 'add streams: sse() to the options of createClient';

/**
 * A call of a stream by a client that has neither `streams` nor a `transport`. It can't be iterated: `Mend` says what to do.
 * A client with such calls is still a `Client<C>`, so that functions for any client take it.
 */
export interface UnreadStream<Mend extends string, Value, Result = unknown>
  extends StreamCall<Value, Result> {
  readonly [Symbol.asyncIterator]: never;
  readonly '~mend'?: Mend;
}

/**
 * A call of this contract entry.
 *
 * @typeParam Streams false: the client has neither `streams` nor a `transport`
 */
export type Pending<Entry, Streams extends boolean = true> = Entry extends {
  readonly yields: infer Value;
}
  ? Streams extends true
    ? StreamCall<Value, ResultOf<Entry>>
    : UnreadStream<AddStreams, Value, ResultOf<Entry>>
  : 'yields' extends keyof Entry
    ? Call<ResultOf<Entry>, ErrorsOf<Entry>> & Iterable
    : Call<ResultOf<Entry>, ErrorsOf<Entry>>;

/** What nothing is known of may be a stream. */
interface Iterable {
  [Symbol.asyncIterator](): AsyncGenerator<unknown, unknown, undefined>;
}

/**
 * Waits for a call and returns its error instead of throwing it, with the types that the contract declares. An error
 * that is neither an RpcError nor an RpcTransportError (an abort, a fault in `headers`) is still thrown.
 */
export async function settle<Result, Errors>(
  call: Call<Result, Errors> & OfClient<Errors>,
): Promise<Outcome<Result, Typed<ErrorIn<Errors>> | CallError>> {
  try {
    return { ok: true, result: await call };
  } catch (error) {
    if (error instanceof RpcError || error instanceof RpcTransportError)
      return { ok: false, error };
    throw error;
  }
}

/** Nothing, for a promise that is no call: its type names no errors, not even that there are none. */
type OfClient<Errors> = [unknown] extends [Errors] ? never : unknown;
