import type { NameOf, ParamsOf } from './contract.ts';
import type { OutcomeOf, Pending } from './outcome.ts';

export interface CallOptions {
  /** Its abort rejects the call with its reason, and tells the server. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds, retries included. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Default: the client's. */
  readonly retries?: number | undefined;
  /** Running it twice does no harm: it is sent again after transport failures and lost workers too. */
  readonly idempotent?: boolean | undefined;
}

/** A client for the procedures of a contract. */
export type Client<C> = ClientMethods<C> &
  (string extends keyof C ? unknown : Namespace<C, NameOf<C>, '', keyof ClientMethods<C>>);

export interface ClientMethods<C> {
  /** Calls by the full name, with named params or, in the declared order, positional ones. */
  call<Name extends NameOf<C>>(name: Name, ...rest: Rest<C[Name], unknown[]>): Pending<C[Name]>;

  /** Sends a call without an id: it runs, and nobody is told how it ended. Resolves when it was taken. */
  notify<Name extends NameOf<C>>(name: Name, ...rest: Rest<C[Name], unknown[]>): Promise<void>;

  /**
   * Sends calls as one request; the server runs them one after another. Each gets an outcome of its own,
   * in their order, so that this rejects only for what concerns no call (an abort, `headers`).
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

/** The call of one procedure by named params. */
export type Method<Entry> = (...rest: Rest<Entry, never>) => Pending<Entry>;

type Rest<Entry, Positional> = [...params: Params<Entry, Positional>, options?: CallOptions];

/** May be left out where all params may. */
type Params<Entry, Positional> =
  Record<never, never> extends ParamsOf<Entry>
    ? [params?: ParamsOf<Entry> | Positional]
    : [params: ParamsOf<Entry> | Positional];

/** Names that the proxy leaves to JavaScript: `call` reaches procedures that have them. */
type Ordinary = 'then' | 'toJSON' | '__proto__' | keyof typeof Object.prototype;

/**
 * The procedures of `Names` below `Prefix`. Names that share their next segment become one member: an `as`
 * clause unites them, in one pass over the names.
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
