import type { NameOf } from './contract.ts';
import type { Method } from './method.ts';

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
