import type { ErrorsOf } from './contract.ts';
import type { Call } from './outcome.ts';

export interface CallOptions {
  /** Aborting it rejects the call with the signal's reason and closes the request, which cancels the call on the server. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, retries included. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Default: the client's. */
  readonly retries?: number | undefined;
  /** Running the call twice does no harm, so it is also sent again after transport failures and lost workers. */
  readonly idempotent?: boolean | undefined;
}

/** Calls one procedure with named params. Written out, since editors show it. */
export type Method<Entry> = Entry extends {
  readonly params: infer Params;
  readonly result: infer Result;
}
  ? Record<never, never> extends Params
    ? (params?: Params, options?: CallOptions) => Call<Result, ErrorsOf<Entry>>
    : (params: Params, options?: CallOptions) => Call<Result, ErrorsOf<Entry>>
  : never;
