import type { Api } from './api.ts';
import type { NameOf, NestedIn, ParamsOf, TreeOfRouter } from './contract.ts';
import type { CallOptions, OptionsOf } from './method.ts';
import type { Namespace } from './namespace.ts';
import type { OutcomeOf, Pending } from './outcome.ts';

/** A client for the procedures of a contract. */
export type Client<C> = ClientMethods<C> &
  (string extends keyof C
    ? unknown
    : [NestedIn<C>] extends [never]
      ? Namespace<C, NameOf<C>, '', keyof ClientMethods<C>>
      : NestedIn<C> extends TreeOfRouter<infer Tree>
        ? Api<C, Tree, keyof ClientMethods<C>>
        : NestedIn<C>);

export interface ClientMethods<C> {
  /** Calls a procedure by its full name, with named params, or with positional ones in the declared order. */
  call<Name extends NameOf<C>>(
    name: Name,
    ...rest: Rest<C[Name], unknown[], OptionsOf<C[Name]>>
  ): Pending<C[Name]>;

  /** Sends a notification: the call runs, and the client doesn't learn how it ended. Resolves when the server accepted it. */
  notify<Name extends NameOf<C>>(
    name: Name,
    ...rest: Rest<C[Name], unknown[], CallOptions>
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
    ? [params?: ParamsOf<Entry> | Positional]
    : [params: ParamsOf<Entry> | Positional];
