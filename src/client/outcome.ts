import type { ContractError, ErrorIn, ErrorsOf, ResultOf } from './contract.ts';
import { RpcError, RpcTransportError } from './errors.ts';

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
export type OutcomeOf<Entry> = Outcome<ResultOf<Entry>, CallErrorOf<Entry>>;

/** A call that has not ended: a promise of its result. Its type has the declared errors by name too, for {@link settle}. */
export type Call<Result, Errors = never> = Promise<Result> & { readonly '~errors'?: Errors };

/** A call of this contract entry. */
export type Pending<Entry> = Call<ResultOf<Entry>, ErrorsOf<Entry>>;

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
    if (!isCallError(error)) throw error;
    return { ok: false, error };
  }
}

/** Nothing, for a promise that is no call: its type names no errors, not even that there are none. */
type OfClient<Errors> = [unknown] extends [Errors] ? never : unknown;

function isCallError(error: unknown): error is CallError {
  return error instanceof RpcError || error instanceof RpcTransportError;
}
