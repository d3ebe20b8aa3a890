/** One procedure in a contract. Generated and inferred contracts have this shape. */
export interface ContractEntry {
  /** The named params. A param that may be left out is an optional member. */
  readonly params: object;
  /** The result as JSON gives it: a procedure that returns nothing answers null. */
  readonly result: unknown;
  /** The errors that the procedure declares, by name. */
  readonly errors?: Readonly<Record<string, ContractError>>;
}

export interface ContractError {
  /** A literal type: callers tell errors apart by it. */
  readonly code: number;
  /** Absent where the error has no data. */
  readonly data?: unknown;
}

/** Entries by the full names of the procedures. The constraint `C extends Contract<C>` accepts interfaces too. */
export type Contract<C = Record<string, ContractEntry>> = {
  readonly [Name in keyof C]: ContractEntry;
};

/** The contract of a router made by `Router.from({...})`. */
export type ContractOf<Router> = Router extends { readonly '~contract'?: infer C } ? C : never;

export type NameOf<C> = keyof C & string;

export type ParamsOf<Entry> = Entry extends { readonly params: infer Params } ? Params : never;

export type ResultOf<Entry> = Entry extends { readonly result: infer Result } ? Result : never;

/** The union of the errors that the procedure declares; `never` where it declares none. */
export type ErrorOf<Entry> = Entry extends { readonly errors?: infer Errors }
  ? Extract<Errors[keyof Errors], ContractError>
  : never;
