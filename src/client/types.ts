import type { NameOf, ParamsOf } from './contract.ts';
import type { OutcomeOf, Pending } from './outcome.ts';

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

/** A client for the procedures of a contract. */
export type Client<C> = ClientMethods<C> &
  (string extends keyof C ? unknown : Namespace<C, NameOf<C>, '', keyof ClientMethods<C>>);

export interface ClientMethods<C> {
  /** Calls a procedure by its full name, with named params, or with positional ones in the declared order. */
  call<Name extends NameOf<C>>(name: Name, ...rest: Rest<C[Name], unknown[]>): Pending<C[Name]>;

  /** Sends a notification: the call runs, and the client doesn't learn how it ended. Resolves when the server accepted it. */
  notify<Name extends NameOf<C>>(name: Name, ...rest: Rest<C[Name], unknown[]>): Promise<void>;

  /**
   * Sends calls as one request; the server runs them one after another. Resolves with an outcome for each call, in the
   * order of the calls. Rejects only for reasons that concern no single call: an abort, an error of `headers`.
   */
  batch<const Calls extends readonly BatchCall<C>[]>(
    calls: Calls,
    options?: CallOptions,
  ): Promise<{ -readonly [Index in keyof Calls]: Ended<C, Calls[Index]> }>;
}

/** A call in a batch: `['math.add', { a: 1, b: 2 }]`. */
export type BatchCall<C> = {
  [Name in NameOf<C>]: readonly [name: Name, ...params: Params<C[Name], readonly unknown[]>];
}[NameOf<C>];

type Ended<C, Call> = Call extends readonly [infer Name extends keyof C, ...unknown[]]
  ? OutcomeOf<C[Name]>
  : never;

/** Calls one procedure with named params. */
export type Method<Entry> = (...rest: Rest<Entry, never>) => Pending<Entry>;

type Rest<Entry, Positional> = [...params: Params<Entry, Positional>, options?: CallOptions];

/** The params argument; optional where all params are optional. */
type Params<Entry, Positional> =
  Record<never, never> extends ParamsOf<Entry>
    ? [params?: ParamsOf<Entry> | Positional]
    : [params: ParamsOf<Entry> | Positional];

/** Names that the proxy leaves to JavaScript. Reach a procedure with such a name through `call`. */
type Ordinary = 'then' | 'toJSON' | '__proto__' | keyof typeof Object.prototype;

/**
 * The procedures of `Names` below `Prefix`. Names with the same next segment become one member: the `as` clause unites
 * them in one pass over the names.
 */
type Namespace<C, Names extends NameOf<C>, Prefix extends string, Taken = never> = {
  readonly [Name in Names as Exclude<Segment<Name, Prefix>, Taken | Ordinary>]: Node<
    C,
    Name,
    `${Prefix}${Segment<Name, Prefix>}`
  >;
};

type Segment<Name, Prefix extends string> = Name extends `${Prefix}${infer Rest}`
  ? Rest extends `${infer First}.${string}`
    ? First
    : Rest
  : never;

/** A procedure, a namespace, or both. */
type Node<C, Names extends NameOf<C>, Path extends string> = [Names] extends [Path]
  ? Method<C[Names]>
  : Path extends Names
    ? Method<C[Path & NameOf<C>]> & Namespace<C, Exclude<Names, Path>, `${Path}.`>
    : Namespace<C, Names, `${Path}.`>;
