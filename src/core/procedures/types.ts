import type {
  Input,
  JsonOf,
  Nothing,
  ParamsOf,
  ParamsSchema,
  ReceivedOf,
  ResultOf,
  ResultSchema,
} from '../schema/declared.ts';
import type { ObjectNode, SchemaNode } from '../schema/model.ts';
import type { ResultRules } from '../schema/project.ts';
import type { Affinity } from './affinity.ts';
import type { BatchOptions, BatchRules } from './batch.ts';
import type { Env, HandlerContext } from './context.ts';
import type {
  CacheOptions,
  CacheRules,
  CompiledErrors,
  Effects,
  ErrorDeclarations,
  ErrorTypes,
} from './declarations.ts';
import type { Authorize, Link, UseList } from './middleware.ts';

/** Where a procedure runs (docs/architecture.md, "Placement"). */
export type Placement = 'inline' | 'worker' | 'auto';

/**
 * @typeParam E the environment of the router that the procedure belongs to
 * @typeParam Xs what each middleware of the procedure's own `use` adds to the context
 */
export type Handler<
  Params = never,
  Result = unknown,
  State = unknown,
  Errors = Record<never, never>,
  E extends Env = Env,
  Xs extends readonly object[] = readonly object[],
> = (params: Params, context: HandlerContext<E, State, Errors, Xs>) => Result | Promise<Result>;

/** The options of `rpc` and `procedure`. */
export interface ProcedureOptions<
  Params extends ParamsSchema | undefined = ParamsSchema | undefined,
  Returns extends ResultSchema | undefined = ResultSchema | undefined,
  Errors extends ErrorDeclarations = ErrorDeclarations,
  State = never,
  E extends Env = Env,
  Xs extends readonly object[] = readonly object[],
  Yields extends ResultSchema | undefined = ResultSchema | undefined,
  Stream extends true | StreamOptions | undefined = true | StreamOptions | undefined,
  Does extends Effects | undefined = Effects | undefined,
  Tool extends false | 'content' | undefined = false | 'content' | undefined,
  Batch extends BatchOptions | undefined = BatchOptions | undefined,
> {
  /** Default: the function's own name. */
  readonly name?: string | undefined;
  /**
   * The params' schema: `Type.Object({...})`, `model({...})`, an object of schemas, or an object schema of zod, arktype or
   * valibot. Without it any object is taken.
   */
  readonly params?: Params;
  /**
   * The result's schema. Of a stream: the schema of the value that its generator returns. Without it the type of the result
   * is what JSON makes of what the handler returns, and nothing is checked.
   */
  readonly returns?: Returns;
  /** The schema of each value that a stream yields. */
  readonly yields?: Yields;
  /**
   * What a stream does beyond its values. A generator function is a stream without it; `true`, or an object, marks a plain
   * function that returns an iterator.
   */
  readonly stream?: Stream;
  /** Errors that are part of the procedure's contract. The handler may throw any other as well. */
  readonly errors?: Errors | undefined;
  /** One paragraph for callers, shown in the introspection document. */
  readonly doc?: string | undefined;
  /** Default `auto`. */
  readonly placement?: Placement | undefined;
  /**
   * The workers that run the procedure, and nothing else: a group of the option `groups` of the service. A procedure with a
   * group never runs inline. Default: the workers that all procedures without a group share.
   */
  readonly group?: string | undefined;
  /**
   * Runs in the same place as the handler, after the params were validated and before the handler. An asynchronous
   * `authorize` makes the call asynchronous, but does not change where the procedure is placed.
   */
  readonly authorize?: Authorize<ParamsOf<Params>, HandlerContext<E, State, Errors>> | undefined;
  /** Middleware for this procedure alone. It runs after that of the router and after `authorize`, in this order. */
  readonly use?: UseList<E, Xs> | undefined;
  /** What the procedure does to the world: shown in the documents, used by clients. */
  readonly effects?: Does | undefined;
  /**
   * What the procedure is to agents, if the service offers its procedures to them (option `mcp`). `false`: it is left
   * out. `'content'`: its handler returns what a model is shown, `{ content: [...] }`: texts, images, audio, resources.
   * Default: a tool whose result is shown as JSON.
   */
  readonly tool?: Tool | undefined;
  /** `false`: the procedure has no URL of its own where the others have one (option `httpPath`). It does not protect it. */
  readonly httpApi?: false | undefined;
  /** How long caches may keep its answers to GET. For `readOnly` procedures that are no streams. Default: not at all. */
  readonly cache?: CacheOptions | undefined;
  /** Milliseconds that a call may run before it is stopped. Default: the server's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Calls that may run at once in the pool. Default: no bound of its own. */
  readonly maxConcurrency?: number | undefined;
  /**
   * The handler takes calls that wait at the same time together: it gets an array of params, and returns an array with a result,
   * or an error, in the place of each. Callers see ordinary calls, each with its own validation, `authorize` and middleware.
   */
  readonly batch?: Batch;
  /**
   * Calls whose values of this param are equal go to the same worker, as far as no other one idles meanwhile; `caller`: those of
   * one caller. A hint for what a worker keeps in its memory, and no promise. Named params only, texts and numbers. Default: any
   * worker takes any call.
   */
  readonly affinity?: 'caller' | (string & keyof ParamsOf<Params>) | undefined;
  /** True for a function that returns a promise without being an `async` function. */
  readonly async?: boolean | undefined;
}

/** What may not stand beside `batch`. */
// Not `[Batch] extends [BatchOptions]`: without strictNullChecks undefined is a BatchOptions too.
export type Beside<Batch> = 'max' extends keyof Batch
  ? {
      readonly yields?: undefined;
      readonly stream?: undefined;
      readonly maxConcurrency?: undefined;
      readonly affinity?: undefined;
    }
  : unknown;

/** See {@link ProcedureOptions.stream}. */
export interface StreamOptions {
  /**
   * The method of the notifications that bring its values over WebSocket. Default: a name that ends in `subscribe` notifies
   * as `...subscription`, any other under its own name.
   */
  readonly notification?: string | undefined;
  /**
   * A method that ends a subscription, beside `rpc.unsubscribe`. Default: a name that ends in `subscribe` has
   * `...unsubscribe`, any other has none.
   */
  readonly unsubscribe?: string | undefined;
  /** A caller that can't read a stream gets the array of all values instead of an error. Default false. */
  readonly collect?: boolean | undefined;
  /**
   * What happens when the service reloads, recycles the worker or drains. `end`, the default: the signal aborts, and the
   * stream ends at its next yield. `finish`: it goes on until it has ended by itself, or the time is over.
   */
  readonly drain?: 'end' | 'finish' | undefined;
}

/**
 * What a handler returns: a result of `returns`, or a promise of one. Without `returns` anything, from which `Out` is
 * inferred. That of a stream: something to iterate, whose values are those of `yields` and whose return value is that of
 * `returns`; without these `Value` and `End` are inferred. A generator is such a thing.
 */
export type Returned<Returns, Yields, Stream, Out = unknown, Value = unknown, End = unknown> = [
  Returns,
  Yields,
  Stream,
] extends [undefined, undefined, undefined]
  ? Out
  : [undefined, undefined] extends [Yields, Stream]
    ? ResultOf<Returns> | Promise<ResultOf<Returns>>
    :
        | Values<Declared<Yields, Value>, Declared<Returns, End>>
        | Promise<Values<Declared<Yields, Value>, Declared<Returns, End>>>;

/** What a schema declares; without a schema what is inferred. */
type Declared<Schema, Inferred> = [Schema] extends [undefined] ? Inferred : ResultOf<Schema>;

type Values<Value, End> =
  | (object & { [Symbol.iterator](): Iterator<Value, End, undefined> })
  | { [Symbol.asyncIterator](): AsyncIterator<Value, End, undefined> };

/** A stream, compiled. */
export interface StreamRules {
  /** See {@link StreamOptions}; undefined: the default. */
  readonly notification: string | undefined;
  readonly unsubscribe: string | undefined;
  readonly collect: boolean;
  readonly drain: 'end' | 'finish';
  /** The schema of each value; undefined: nothing is declared. */
  readonly yields: SchemaNode | undefined;
  /** What is done with a value before it is sent; undefined: nothing is declared. */
  readonly value: ResultRules | undefined;
}

/** A module's per-replica state: the return value of its `setup()`. */
export interface ModuleState {
  value: unknown;
}

/** A registered procedure, with all that was compiled at registration. Immutable. */
export interface Procedure<Entry = unknown, E extends Env = Env> {
  /** The procedure's name in its router. */
  readonly name: string;
  readonly handler: Handler;
  /** What runs between the validation and the handler, in order: of outer routers, of merges, the procedure's own. */
  readonly links: readonly Link[];
  /** The only link, if that is an `authorize`. */
  readonly authorize: Authorize | undefined;
  /** The links, if there are others than one `authorize`. */
  readonly chain: readonly Link[] | undefined;
  readonly params: ObjectNode | undefined;
  /** Whether positional params are taken. */
  readonly hasOrder: boolean;
  readonly returns: SchemaNode | undefined;
  /** The declared errors; undefined: none. */
  readonly errors: CompiledErrors | undefined;
  readonly doc: string | null;
  /** undefined: nothing is declared. */
  readonly effects: Effects | undefined;
  /** See {@link ProcedureOptions.tool}. */
  readonly tool: false | 'content' | undefined;
  /** See {@link ProcedureOptions.httpApi}. */
  readonly httpApi: false | undefined;
  /** undefined: caches keep nothing of it. */
  readonly cache: CacheRules | undefined;
  readonly isAsync: boolean;
  /**
   * Nothing of this procedure can look at the context of a call, so what a context has of the caller stays where the request
   * came in. False if anything beside the handler is given a context.
   */
  readonly ignoresContext: boolean;
  readonly placement: Placement;
  /** The group of workers that runs it; undefined: those without a group, or this thread. */
  readonly group: string | undefined;
  /** Milliseconds that a call may run; undefined: the server's `timeoutMs`. */
  readonly timeoutMs: number | undefined;
  /** Calls that may run at once in the pool, undefined: no bound of its own. */
  readonly maxConcurrency: number | undefined;
  /** How calls run together; undefined: each runs by itself. `handler` then still takes one call, which it lets join others. */
  readonly batch: BatchRules | undefined;
  /** undefined: any worker takes any call. */
  readonly affinity: Affinity | undefined;
  /**
   * Turns params as they came (undefined, object or array) into named params with their defaults filled in.
   * @throws RpcError -32602 with ParamIssue[] as its data
   */
  readonly bindParams: (params: unknown) => Record<string, unknown>;
  /** What is done with a result before it is sent; undefined: nothing is declared. */
  readonly result: ResultRules | undefined;
  /** It yields values before its result; undefined: it has a result alone. */
  readonly stream: StreamRules | undefined;
  /** The state of the module that the procedure was loaded from. */
  readonly moduleState: ModuleState | undefined;
  /** The procedure's entry in a contract. Exists only in the type. */
  readonly '~entry'?: Entry;
  /** What its handler and its middleware rely on. Exists only in the type. */
  readonly '~env'?: E;
}

/**
 * A procedure in a contract, as its caller sees it: a procedure that returns nothing has the result null.
 *
 * @typeParam Out what the handler returns, which is the result if no `returns` is declared
 */
export interface ProcedureEntry<
  Params extends ParamsSchema | undefined,
  Returns extends ResultSchema | undefined,
  Errors extends ErrorDeclarations,
  Does extends Effects | undefined = undefined,
  Out = unknown,
> {
  readonly params: Input<Params>;
  readonly result: OnWire<Returns, Out>;
  readonly errors: ErrorTypes<Errors>;
  readonly effects: EffectTypes<Does>;
}

/** A stream in a contract. Its `result` is what it returns at its end. */
export interface StreamEntry<
  Params extends ParamsSchema | undefined,
  Returns extends ResultSchema | undefined,
  Errors extends ErrorDeclarations,
  Yields,
  Does extends Effects | undefined = undefined,
  Out = unknown,
  Value = unknown,
> extends ProcedureEntry<Params, Returns, Errors, Does, Out> {
  readonly yields: OnWire<Yields, Value>;
}

/** The entry of a procedure with these options, and a handler from which `Out`, `Value` and `End` were inferred. */
export type EntryFor<
  Params extends ParamsSchema | undefined,
  Returns extends ResultSchema | undefined,
  Errors extends ErrorDeclarations,
  Yields,
  Stream,
  Does extends Effects | undefined,
  Tool,
  Out,
  Value,
  End,
> = [Returns, Yields, Stream] extends [undefined, undefined, undefined]
  ? // What a model is shown is no value of the caller's: its bytes travel, and members may be left out.
    UndeclaredEntry<Params, Errors, Does, [Tool] extends ['content'] ? unknown : Out>
  : [Yields, Stream] extends [undefined, undefined]
    ? ProcedureEntry<Params, Returns, Errors, Does>
    : StreamEntry<Params, Returns, Errors, Yields, Does, End, Value>;

/** The options don't say whether it is a stream: what a generator function returns is one. */
type UndeclaredEntry<
  Params extends ParamsSchema | undefined,
  Errors extends ErrorDeclarations,
  Does extends Effects | undefined,
  Out,
> = unknown extends Out
  ? ProcedureEntry<Params, undefined, Errors, Does> // `any` is `never` and a stream too
  : [Out] extends [never]
    ? ProcedureEntry<Params, undefined, Errors, Does, Out>
    : [Out] extends [GeneratorOf<unknown, unknown>] // inference costs more than this comparison
      ? [Out] extends [GeneratorOf<infer Value, infer End>]
        ? StreamEntry<Params, undefined, Errors, undefined, Does, End, Value>
        : never
      : ProcedureEntry<Params, undefined, Errors, Does, Settled<Out>>;

type GeneratorOf<Value, End> = Generator<Value, End, never> | AsyncGenerator<Value, End, never>;

type Settled<Out> = Out extends PromiseLike<unknown> ? Awaited<Out> : Out;

/** What a caller gets of a value that the schema declares; without a schema what JSON makes of it. */
type OnWire<Schema, Value> = OrNull<
  [Schema] extends [undefined]
    ? unknown extends Value
      ? unknown
      : JsonOf<Value>
    : ReceivedOf<Schema>
>;

type OrNull<Result> = unknown extends Result ? Result : Result extends Nothing ? null : Result;

/** What clients decide by; undefined if nothing is declared, as in the documents. */
type EffectTypes<Does> = [keyof Does] extends [never]
  ? undefined
  : {
      readonly [Name in keyof Does & ('readOnly' | 'idempotent') as Does[Name] extends true
        ? Name
        : never]: true;
    };
