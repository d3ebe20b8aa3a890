import type { Api } from './api.ts';
import type { ErrorsOf, NameOf, NestedIn, ParamsOf, ResultOf, TreeOfRouter } from './contract.ts';
import type { CallOptions, CommonOptions, OptionsOf } from './method.ts';
import type { Namespace } from './namespace.ts';
import type { Call, CallErrorOf, OutcomeOf, Pending } from './outcome.ts';

/**
 * A client for the procedures of a contract.
 *
 * @typeParam Streams false: the client has neither `streams` nor a `transport`, so that no stream can be iterated
 */
export type Client<C, Streams extends boolean = true> = ClientMethods<C, Streams> &
  (Streams extends true ? unknown : UnreadStreams<C, StreamNameOf<C>>) &
  (string extends keyof C
    ? unknown
    : [NestedIn<C>] extends [never]
      ? Namespace<C, NameOf<C>, '', keyof ClientMethods<C>>
      : NestedIn<C> extends TreeOfRouter<infer Tree>
        ? Api<C, Tree, keyof ClientMethods<C>>
        : NestedIn<C>);

/**
 * The streams of a client that can't iterate them. They stand before the procedures of the contract: of two signatures the
 * compiler takes the first.
 */
type UnreadStreams<C, Names extends NameOf<C>> = [Names] extends [never]
  ? unknown
  : Namespace<C, Names, '', keyof ClientMethods<C>, false>;

type StreamNameOf<C> = {
  [Name in NameOf<C>]: C[Name] extends { readonly yields: unknown } ? Name : never;
}[NameOf<C>];

export interface ClientMethods<C, Streams extends boolean = true> {
  /** Calls a procedure by its full name, with named params, or with positional ones in the declared order. */
  call<Name extends NameOf<C>>(
    name: Name,
    ...rest: Rest<C[Name], unknown[], OptionsOf<C[Name]>>
  ): Pending<C[Name], Streams>;
  /** The same for a name that is a type parameter: TypeScript can't tell yet which of its params may be left out. */
  call<Name extends NameOf<C>>(
    name: Name,
    params: CallParams<C, Name>,
    options?: CommonOptions,
  ): Call<CallResult<C, Name>, ErrorsOf<C[Name]>>;

  /** Sends a notification: the call runs, and the client doesn't learn how it ended. Resolves when the server accepted it. */
  notify<Name extends NameOf<C>>(
    name: Name,
    ...rest: Rest<C[Name], unknown[], CallOptions>
  ): Promise<void>;
  /** The same for a name that is a type parameter. */
  notify<Name extends NameOf<C>>(
    name: Name,
    params: CallParams<C, Name>,
    options?: CallOptions,
  ): Promise<void>;

  /**
   * Sends calls as one request; the server runs them one after another. Resolves with an outcome for each call, in the
   * order of the calls. Rejects only for reasons that concern no single call: an abort, an error of `headers`.
   */
  batch<const Calls extends readonly BatchCall<C>[]>(
    calls: Calls,
    options?: CallOptions,
  ): Promise<{ -readonly [Index in keyof Calls]: Ended<C, Calls[Index]> }>;
}

/**
 * The named params of a procedure, for functions that call any:
 * `query<Name extends keyof C & string>(name: Name, params: CallParams<C, Name>)`.
 */
export type CallParams<C, Name extends NameOf<C>> = ParamsOf<C[Name]>;

/** What a call of a procedure resolves with. Of a stream: what it returns at its end. */
export type CallResult<C, Name extends NameOf<C>> = ResultOf<C[Name]>;

/** The errors that a call of a procedure may end with: the declared ones and all others. */
export type CallErrors<C, Name extends NameOf<C>> = CallErrorOf<C[Name]>;

/** A call in a batch: `['math.add', { a: 1, b: 2 }]`. */
export type BatchCall<C> = {
  [Name in NameOf<C>]: readonly [name: Name, ...params: Params<C[Name], readonly unknown[]>];
}[NameOf<C>];

type Ended<C, Call> = Call extends readonly [infer Name extends keyof C, ...unknown[]]
  ? OutcomeOf<C[Name]>
  : never;

type Rest<Entry, Positional, Options> = [...params: Params<Entry, Positional>, options?: Options];

/** The params argument; optional where all params are optional. */
type Params<Entry, Positional> =
  Record<never, never> extends ParamsOf<Entry>
    ? [params?: Either<ParamsOf<Entry>, Positional>]
    : [params: ParamsOf<Entry> | Positional];

/**
 * In its first pass over the signatures the compiler takes no object literal for `object | unknown[]`, but one for `object`,
 * which is all that the second signature of `call` asks for.
 */
type Either<Named, Positional> = [keyof Named] extends [never] ? Named : Named | Positional;
