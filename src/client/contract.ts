/** What a contract says of one procedure. Generated and inferred contracts have this shape. */
export interface ContractEntry {
  /** The named params; those that may be left out are optional members. */
  readonly params: object;
  /** The result as JSON gives it: a procedure that returns nothing answers null. */
  readonly result: unknown;
  /** The errors it declares, by name. */
  readonly errors?: Readonly<Record<string, ContractError>>;
}

export interface ContractError {
  /** A literal type, by which the caller tells errors apart. */
  readonly code: number;
  /** Absent where the error carries none. */
  readonly data?: unknown;
}

/** Entries by the procedures' full names. As a constraint, `C extends Contract<C>`, it takes interfaces too. */
export type Contract<C = Record<string, ContractEntry>> = {
  readonly [Name in keyof C]: ContractEntry;
};

/** The contract of a router made by `Router.from({...})`. */
export type ContractOf<Router> = Router extends { readonly '~contract'?: infer C } ? C : never;

export type NameOf<C> = keyof C & string;

export type ParamsOf<Entry> = Entry extends { readonly params: infer Params } ? Params : never;

export type ResultOf<Entry> = Entry extends { readonly result: infer Result } ? Result : never;

/** A union of what the procedure declares; never where it declares none. */
export type ErrorOf<Entry> = Entry extends { readonly errors?: infer Errors }
  ? Extract<Errors[keyof Errors], ContractError>
  : never;
