/** One procedure in a contract. Generated and inferred contracts have this shape. */
export interface ContractEntry {
  /** The named params. A param that may be left out is an optional member. */
  readonly params: object;
  /** The result as JSON gives it: a procedure that returns nothing answers null. */
  readonly result: unknown;
  /** Of a stream: each value that it yields. Its `result` is what it returns at its end. Absent: it is no stream. */
  readonly yields?: unknown;
  /** The errors that the procedure declares, by name. */
  readonly errors?: Readonly<Record<string, ContractError>>;
  /** What the procedure declares of its effects: query libraries tell reads from writes by it. Absent or undefined: nothing. */
  readonly effects?: { readonly readOnly?: true; readonly idempotent?: true } | undefined;
}

/**
 * The bytes of a result: `Uint8Array<ArrayBuffer>` from TypeScript 5.7 on, `Uint8Array` before, which knows no such parameter.
 * `new Blob([bytes])` takes them.
 */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>;

export interface ContractError {
  /** A literal type: callers tell errors apart by it. */
  readonly code: number;
  /** Absent if the error has no data. */
  readonly data?: unknown;
}

/**
 * Entries by the full names of the procedures. The constraint `C extends Contract<C>` accepts interfaces too.
 *
 * Beside them a contract may have one member under a symbol, whatever symbol: its procedures nested by the segments of their
 * names, so that an editor finds them. A symbol, so that the string keys are the names; any symbol, so that a router's
 * contract and a generated one need not share it.
 */
export type Contract<C = Record<string, ContractEntry>> = {
  readonly [Name in keyof C & string]: ContractEntry;
};

/** What a contract has under its symbol; `never`: nothing. */
export type NestedIn<C> = NonNullable<C[keyof C & symbol]>;

/** The tree that `Router.from` was given. A generated contract has methods in its place. */
export interface TreeOfRouter<Tree> {
  readonly '~tree': Tree;
}

/** The contract of a router made by `Router.from({...})`. */
export type ContractOf<Router> = Router extends { readonly '~contract'?: infer C } ? C : never;

export type NameOf<C> = keyof C & string;

export type ParamsOf<Entry> = Entry extends { readonly params: infer Params } ? Params : never;

export type ResultOf<Entry> = Entry extends { readonly result: infer Result } ? Result : never;

/**
 * The errors that the procedure declares, by name; `never` if it declares none. Written anew, so that the type of a
 * call names no type of the server.
 */
export type ErrorsOf<Entry> = Entry extends { readonly errors?: infer Errors }
  ? { [Name in keyof Errors]: Errors[Name] }
  : never;

/** The union of errors by name. */
export type ErrorIn<Errors> = Extract<Errors[keyof Errors], ContractError>;
