import type { TSchema } from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { objectOf, wholeNumber } from '../schema/options.ts';
import type { CallContext, CallLog } from './context.ts';
import type { ErrorMakers } from './declarations.ts';
import { isAsyncFunction, isGeneratorFunction } from './registration.ts';

/** See the option `batch` of a procedure. */
export interface BatchOptions {
  /** Calls of one run at most, 2 to 1024. */
  readonly max: number;
  /** Runs of an asynchronous handler at a time, in each thread. Further calls wait, and run together. Default 4. */
  readonly parallel?: number | undefined;
}

/** The second argument of a handler that takes many calls at once. */
export interface BatchContext<Call = CallContext, State = unknown, Errors = Record<never, never>> {
  /** The context of each call, in the order of the params, with what middleware has added to it. */
  readonly calls: readonly Call[];
  /** Aborts when nobody waits for any of the calls any more. */
  readonly signal: AbortSignal;
  /** When the last of the calls must have ended, in milliseconds since the Unix epoch; see `deadline` of a CallContext. */
  readonly deadline: number;
  /** What the module's `setup()` returned in this replica. */
  readonly state: State;
  /** Makes the errors that the procedure declares: in a call's place, each is the error of that call. */
  readonly errors: ErrorMakers<Errors>;
  /** Writes lines into the service's log. They carry `method`, and no `id`: use `calls[i].log` for a line of one call. */
  readonly log: CallLog;
}

/** What a batch handler gives: in each call's place its result, or the error of that call alone. */
export type Results<Result> = readonly (Result | Error)[];

/** A handler that takes many calls at once: see {@link BatchOptions}. */
export type BatchHandler<
  Params = never,
  Result = unknown,
  State = unknown,
  Errors = Record<never, never>,
  Call = CallContext<State, Errors>,
> = (
  params: readonly Params[],
  batch: BatchContext<Call, State, Errors>,
) => Results<Result> | Promise<Results<Result>>;

/** {@link BatchOptions}, complete, with the handler. */
export interface BatchRules {
  readonly max: number;
  readonly parallel: number;
  readonly handler: BatchHandler;
}

/**
 * Puts rows into the order of their keys. A database returns rows in an order of its own, and leaves out those that it does
 * not have: without this, callers would get each other's rows.
 *
 * @param keys one for each call; several calls may have the same key
 * @param keyOf the key of a row
 * @param missing what a call gets whose key no row has, such as `() => errors.Gone()`
 */
export function inOrder<Key, Row>(
  keys: readonly Key[],
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
  missing: (key: Key) => Row | Error,
): (Row | Error)[] {
  const byKey = new Map<Key, Row>();
  for (const row of rows) byKey.set(keyOf(row), row);
  return keys.map((key) => (byKey.has(key) ? (byKey.get(key) as Row) : missing(key)));
}

const maxCalls = 1024;
const usualParallel = 4;

export function batchSchema(): TSchema {
  return objectOf<keyof BatchOptions>(
    { max: wholeNumber('calls (for single calls leave batch out)', 2, maxCalls) },
    { parallel: wholeNumber('runs', 1) },
  );
}

/** What can't be beside `batch`, and what to do. */
const exclusive = {
  yields: 'a stream is opened by one call: leave yields out, or batch',
  stream: 'a stream is opened by one call: leave stream out, or batch',
  maxConcurrency:
    'batch.parallel bounds how many runs there are at a time. For one at a time everywhere use a group of one worker: leave maxConcurrency out',
} as const;

/**
 * Completes the option, which batchSchema has taken.
 *
 * @returns undefined if calls run one by one
 * @throws RegistrationError for an option that can't be beside it
 */
export function compileBatch(
  options: { readonly [Name in keyof typeof exclusive]?: unknown } & {
    readonly batch?: BatchOptions | undefined;
  },
  where: string,
): Omit<BatchRules, 'handler'> | undefined {
  if (options.batch === undefined) return undefined;
  for (const [name, advice] of Object.entries(exclusive)) {
    if (options[name as keyof typeof exclusive] === undefined) continue;
    throw new RegistrationError(`${where}: option ${name} can't stand beside batch: ${advice}`);
  }
  const { max, parallel = usualParallel } = options.batch;
  return { max, parallel };
}

/** @throws RegistrationError for a handler that can't take many calls */
export function assertBatchHandler(
  handler: object,
  batch: unknown,
  isDeclaredAsync: boolean,
  where: string,
): void {
  if (isGeneratorFunction(handler)) {
    throw new RegistrationError(
      `${where}: option batch is not for a generator function, which is a stream: return an array with a result for each call`,
    );
  }
  const { parallel } = batch as BatchOptions;
  if (parallel !== undefined && !isDeclaredAsync && !isAsyncFunction(handler)) {
    throw new RegistrationError(
      `${where}: option batch.parallel is for an asynchronous handler, and a synchronous one runs once at a time: leave parallel out, or declare async: true for a function that returns a promise`,
    );
  }
}
