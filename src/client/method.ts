import type { ErrorsOf } from './contract.ts';
import type { AddStreams, Call, StreamCall, UnreadStream } from './outcome.ts';
import type { StreamCallOptions } from './transport.ts';

export interface CallOptions {
  /**
   * Aborting it rejects the call with the signal's reason, and closes the request, which cancels the call on the server. Over
   * a WebSocket, where other calls share the connection, the call goes on there, and its reply is dropped.
   */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, retries included. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Default: the client's. */
  readonly retries?: number | undefined;
  /** Running the call twice does no harm, so it is also sent again after transport failures and lost workers. */
  readonly idempotent?: boolean | undefined;
}

/**
 * Calls one procedure with named params. Written out, since editors show it.
 *
 * @typeParam Streams false: the client can't iterate streams
 */
export type Method<Entry, Streams extends boolean = true> = Entry extends {
  readonly params: infer Params;
  readonly result: infer Result;
}
  ? Entry extends { readonly yields: infer Value }
    ? Streams extends true
      ? Record<never, never> extends Params
        ? (params?: Params, options?: StreamCallOptions<Value, Params>) => StreamCall<Value, Result>
        : (params: Params, options?: StreamCallOptions<Value, Params>) => StreamCall<Value, Result>
      : Record<never, never> extends Params
        ? (
            params?: Params,
            options?: StreamCallOptions<Value, Params>,
          ) => UnreadStream<AddStreams, Value, Result>
        : (
            params: Params,
            options?: StreamCallOptions<Value, Params>,
          ) => UnreadStream<AddStreams, Value, Result>
    : Record<never, never> extends Params
      ? (params?: Params, options?: CallOptions) => Call<Result, ErrorsOf<Entry>>
      : (params: Params, options?: CallOptions) => Call<Result, ErrorsOf<Entry>>
  : never;

/** The options of a call of this contract entry. */
export type OptionsOf<Entry> = Entry extends {
  readonly params: infer Params;
  readonly yields: infer Value;
}
  ? StreamCallOptions<Value, Params>
  : 'yields' extends keyof Entry
    ? CallOptions & StreamCallOptions
    : CallOptions;

/** The options that every call has. */
export type CommonOptions = Pick<CallOptions, keyof CallOptions & keyof StreamCallOptions>;
