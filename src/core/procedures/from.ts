import type { Env } from './context.ts';
import type { Procedure } from './types.ts';

/** What `Router.from` takes: procedures and routers, in objects that nest. */
export interface ProcedureTree {
  readonly [name: string]: Procedure | RouterLike | ProcedureTree;
}

/** The part of a Router that its type is recognised by, whatever its environment. */
export interface RouterLike<C = unknown> {
  reloadModule(path: string): Promise<boolean>;
  readonly '~contract'?: C;
}

/** Exists only in types: the key of the tree in a contract. A client takes whatever symbol a contract has. */
declare const tree: unique symbol;

/** The contract of a tree: entries by full names, and the tree, in which an editor finds each procedure. */
export type ContractFrom<Tree> = ByName<LeavesOf<Tree, ''>> & {
  readonly [tree]?: { readonly '~tree': Tree };
};

type ByName<Leaves> = {
  readonly [Leaf in Leaves as Leaf extends readonly [infer Name extends string, unknown]
    ? Name
    : never]: Leaf extends readonly [string, infer Entry] ? Entry : never;
};

/** The tree as a union of [name, entry]: one flat pass, which stays cheap to compile for a thousand procedures. */
type LeavesOf<Tree, Prefix extends string> = {
  [Name in keyof Tree & string]: Tree[Name] extends Procedure<infer Entry>
    ? readonly [`${Prefix}${Name}`, EntryOf<Entry>]
    : Tree[Name] extends RouterLike<infer C>
      ? { [Inner in keyof C & string]: readonly [`${Prefix}${Name}.${Inner}`, C[Inner]] }[keyof C &
          string]
      : LeavesOf<Tree[Name], `${Prefix}${Name}.`>;
}[keyof Tree & string];

/** The environment of a router; of one that `Router.from` has made, what its procedures rely on all together. */
export type EnvOf<R> = R extends {
  readonly '~contract'?: { readonly [tree]?: { readonly '~tree': infer Tree } };
}
  ? NeedsOf<Tree> extends (env: infer E extends Env) => void
    ? E
    : Env
  : R extends { readonly '~env'?: infer E extends Env }
    ? E
    : Env;

/** A union of functions, of which inference makes the intersection of what they take. */
type NeedsOf<Tree> = {
  [Name in keyof Tree & string]: '~env' extends keyof Tree[Name]
    ? Takes<EnvOf<Tree[Name]>>
    : NeedsOf<Tree[Name]>;
}[keyof Tree & string];

type Takes<E> = (env: E) => void;

/** A procedure whose types were lost (`router.get` returns such) takes any object and returns unknown. */
type EntryOf<Entry> = unknown extends Entry
  ? { readonly params: Record<string, unknown>; readonly result: unknown }
  : Entry;
