import type { ContractError, ErrorOf, ResultOf } from './contract.ts';
import { RpcError, RpcTransportError } from './errors.ts';

/** How a call ended: its result, or its error. */
export type Outcome<Result = unknown, Failure = CallError> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: Failure };

/** What any call may end with. */
export type CallError = RpcError | RpcTransportError;

/** What a call of this contract entry may end with: its declared errors beside the rest. */
export type CallErrorOf<Entry> = Typed<ErrorOf<Entry>> | CallError;

type Typed<Declared> = Declared extends ContractError
  ? RpcError<Declared['code'], Declared extends { readonly data: infer Data } ? Data : undefined>
  : never;

export type OutcomeOf<Entry> = Outcome<ResultOf<Entry>, CallErrorOf<Entry>>;

/** A promise of a result that also knows, for {@link settle}, the types of its errors. */
export interface RpcPromise<Result, Failure = CallError> extends Promise<Result> {
  readonly '~failure'?: Failure;
}

/**
 * Waits for a call without throwing its errors: they come back with the types the contract declares. What
 * is neither an RpcError nor an RpcTransportError (an abort, a fault in `headers`) is still thrown.
 */
export async function settle<Result, Failure>(
  call: RpcPromise<Result, Failure>,
): Promise<Outcome<Result, Failure>> {
  try {
    return { ok: true, result: await call };
  } catch (error) {
    if (!isCallError(error)) throw error;
    // A call rejects with the errors its type names.
    return { ok: false, error: error as Failure };
  }
}

function isCallError(error: unknown): error is CallError {
  return error instanceof RpcError || error instanceof RpcTransportError;
}
