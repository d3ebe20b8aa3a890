import type { Static, TObject, TSchema, TVoid } from '@sinclair/typebox';
import type { CallContext } from './context.ts';
import type { CompiledErrors, ErrorDeclarations, ErrorTypes } from './declared-errors.ts';

/** Where a procedure runs (docs/architecture.md, "Placement"). */
export type Placement = 'inline' | 'worker' | 'auto';

export type Handler<
  Params = never,
  Result = unknown,
  State = unknown,
  Errors = Record<never, never>,
> = (params: Params, context: CallContext<State, Errors>) => Result | Promise<Result>;

/**
 * Says whether a call may be made, by throwing where it may not: an RpcError reaches the caller as it is,
 * anything else is a -32603. It returns nothing: any value is a -32603, so that one that answers true or
 * false is found out at its first call, and lets nobody in.
 */
export type Authorize<Params = never, State = never, Errors = Record<never, never>> = (
  context: CallContext<State, Errors>,
  params: Params,
) => void | Promise<void>;

/** What `rpc` and `procedure` take beside the handler. */
export interface ProcedureOptions<
  Params extends TObject | undefined = TObject | undefined,
  Returns extends TSchema | undefined = TSchema | undefined,
  Errors extends ErrorDeclarations = ErrorDeclarations,
  State = never,
> {
  /** Default: the function's own name. */
  readonly name?: string | undefined;
  /** The params' schema, `Type.Object({...})` or `model({...})`. Without it any object is taken. */
  readonly params?: Params;
  /** The result's schema. */
  readonly returns?: Returns;
  /** Errors that are part of its contract; any other may be thrown as well. */
  readonly errors?: Errors | undefined;
  /** One paragraph for the people who call it; part of the introspection document. */
  readonly doc?: string | undefined;
  /** Default `auto`. */
  readonly placement?: Placement | undefined;
  /**
   * Runs where the handler does, after the params were validated and before the handler. Where it is
   * asynchronous the call is; the procedure is placed as its handler is.
   */
  readonly authorize?: Authorize<ParamsOf<Params>, State, Errors> | undefined;
  /** Milliseconds of running time before it is stopped. Default: the server's. */
  readonly timeoutMs?: number | undefined;
  /** Calls that may run at once in the pool. Default: no bound of its own. */
  readonly maxConcurrency?: number | undefined;
  /** True for a function that returns a promise without being an `async` function. */
  readonly async?: boolean | undefined;
}

/** One refused argument: the `data` of a -32602 is a list of these. */
export interface ParamIssue {
  /** JSON Pointer into the named params, e.g. `/user/tags/0`; '' is the params themselves. */
  readonly path: string;
  readonly message: string;
  /** A type in TypeScript notation, e.g. `number`. */
  readonly expected: string;
  /** A type name, never the value: string, number, boolean, null, array, object, undefined. */
  readonly received: string;
}

/** A module's per-replica state: the return value of its `setup()`. */
export interface ModuleState {
  value: unknown;
}

/** A registered procedure: everything about it compiled at registration. Immutable. */
export interface Procedure<Entry = unknown> {
  /** Its key in the router it was taken from. */
  readonly name: string;
  readonly handler: Handler;
  readonly authorize: Authorize | undefined;
  readonly params: TObject | undefined;
  readonly returns: TSchema | undefined;
  /** What it declares beside its result, undefined: nothing. */
  readonly errors: CompiledErrors | undefined;
  readonly doc: string | null;
  readonly isAsync: boolean;
  readonly placement: Placement;
  /** Milliseconds of running time, undefined: the server's. */
  readonly timeoutMs: number | undefined;
  /** Calls that may run at once in the pool, undefined: no bound of its own. */
  readonly maxConcurrency: number | undefined;
  /**
   * Params as they came (undefined, object or array) to the named form with defaults filled in.
   * @throws RpcError -32602 with ParamIssue[] as its data
   */
  readonly bindParams: (params: unknown) => Record<string, unknown>;
  /** Why a result does not match `returns`, undefined when it does (or nothing is declared). */
  readonly checkResult: ((result: unknown) => string | undefined) | undefined;
  /** The state of the module it was loaded from. */
  readonly moduleState: ModuleState | undefined;
  /** What a contract says of it. In types only: there is no such member. */
  readonly '~entry'?: Entry;
}

/** The type of a handler's params: of any object where nothing is declared. */
export type ParamsOf<Params extends TObject | undefined> = Params extends TObject
  ? Static<Params>
  : Record<string, unknown>;

/** The type a handler's result must have: any where nothing is declared. */
export type ResultOf<Returns extends TSchema | undefined> = Returns extends TSchema
  ? Static<Returns>
  : unknown;

/** What a contract says of a procedure: as its caller sees it, so that nothing is null. */
export interface ProcedureEntry<
  Params extends TObject | undefined,
  Returns extends TSchema | undefined,
  Errors extends ErrorDeclarations,
> {
  readonly params: ParamsOf<Params>;
  readonly result: OnWire<ResultOf<Returns>>;
  readonly errors: ErrorTypes<Errors>;
}

type OnWire<Result> = [Result] extends [Static<TVoid>]
  ? null
  : undefined extends Result
    ? Exclude<Result, undefined> | null
    : Result;
