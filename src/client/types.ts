import type { ErrorsOf, NameOf, NestedIn, ParamsOf, ResultOf, TreeOfRouter } from './contract.ts';
import type { StreamCallOptions } from './exchange.ts';
import type {
  AddStreams,
  Call,
  CallErrorOf,
  OutcomeOf,
  Pending,
  StreamCall,
  UnreadStream,
} from './outcome.ts';

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

/** The params argument; optional if all params are optional. */
type Params<Entry, Positional> =
  Record<never, never> extends ParamsOf<Entry>
    ? [params?: Either<ParamsOf<Entry>, Positional>]
    : [params: ParamsOf<Entry> | Positional];

/**
 * In its first pass over the signatures the compiler takes no object literal for `object | unknown[]`, but one for `object`,
 * which is all that the second signature of `call` asks for.
 */
type Either<Named, Positional> = [keyof Named] extends [never] ? Named : Named | Positional;

/**
 * The procedures of a router's tree. A mapped type over the tree's own keys keeps where each member was declared: an editor goes from
 * a call to the procedure, and shows its doc comment.
 */
export type Api<C, Tree, Taken = never, Prefix extends string = ''> = Members<
  C,
  Tree,
  Prefix,
  Exclude<Plain<keyof Tree>, Taken | Ordinary>
> &
  Dotted<C, Tree, Prefix, Taken>;

type Members<C, Tree, Prefix extends string, Keys extends keyof Tree> = {
  readonly [Key in Keys]: Member<C, Tree[Key], `${Prefix}${Key & string}.`>;
};

/** A procedure, a router, or an object of them. */
type Member<C, Value, Prefix extends string> = '~entry' extends keyof Value
  ? Value extends { readonly '~entry'?: infer Entry }
    ? Method<KnownEntry<Entry>>
    : never
  : '~contract' extends keyof Value
    ? RouterMember<C, Value, Prefix>
    : Api<C, Value, never, Prefix>;

/** A procedure whose types were lost (`router.get` returns such) takes any object and returns unknown. */
type KnownEntry<Entry> = unknown extends Entry
  ? { readonly params: Record<string, unknown>; readonly result: unknown }
  : Entry;

type RouterMember<C, Value, Prefix extends string> = Value extends {
  readonly '~contract'?: infer Inner;
}
  ? NestedIn<Inner> extends TreeOfRouter<infer Tree>
    ? Api<C, Tree, never, Prefix>
    : Namespace<C, Below<C, Prefix>, Prefix>
  : never;

type Below<C, Prefix extends string> = Extract<NameOf<C>, `${Prefix}${string}`>;

/** Keys without a dot. */
type Plain<Key> = Exclude<Key, `${string}.${string}`>;

/** Keys with a dot lead to names that no member of the tree stands for. */
type Dotted<C, Tree, Prefix extends string, Taken> = [
  Exclude<keyof Tree, Plain<keyof Tree>>,
] extends [never]
  ? unknown
  : Namespace<
      C,
      Extract<
        NameOf<C>,
        `${Prefix}${Exclude<keyof Tree, Plain<keyof Tree>> & string}${'' | `.${string}`}`
      >,
      Prefix,
      Taken
    >;

/** Names that the proxy leaves to JavaScript. Reach a procedure with such a name through `call`. */
export type Ordinary = 'then' | 'toJSON' | '__proto__' | keyof typeof Object.prototype;

/**
 * The procedures of `Names` below `Prefix`. Names with the same next segment become one member: the `as` clause unites
 * them in one pass over the names.
 */
export type Namespace<
  C,
  Names extends NameOf<C>,
  Prefix extends string,
  Taken = never,
  Streams extends boolean = true,
> = {
  readonly [Name in Names as Exclude<Segment<Name, Prefix>, Taken | Ordinary>]: Node<
    C,
    Name,
    `${Prefix}${Segment<Name, Prefix>}`,
    Streams
  >;
};

type Segment<Name, Prefix extends string> = Name extends `${Prefix}${infer Rest}`
  ? Rest extends `${infer First}.${string}`
    ? First
    : Rest
  : never;

/** A procedure, a namespace, or both. */
type Node<C, Names extends NameOf<C>, Path extends string, Streams extends boolean> = [
  Names,
] extends [Path]
  ? Method<C[Names], Streams>
  : Path extends Names
    ? Method<C[Path & NameOf<C>], Streams> &
        Namespace<C, Exclude<Names, Path>, `${Path}.`, never, Streams>
    : Namespace<C, Names, `${Path}.`, never, Streams>;

export interface CallOptions {
  /**
   * Aborting it rejects the call with the signal's reason, and closes the request, which cancels the call on the server. Over
   * a WebSocket, whose connection other calls share, the call goes on there, and its reply is dropped.
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
