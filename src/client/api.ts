import type { NameOf, NestedIn, TreeOfRouter } from './contract.ts';
import type { Method } from './method.ts';
import type { Namespace, Ordinary } from './namespace.ts';

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
