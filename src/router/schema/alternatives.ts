import type { TSchema } from '@sinclair/typebox';
import { kindOf, type Names, targetOf } from './schema-tree.ts';

export type Scalar = string | number | boolean;

/**
 * The alternatives of a union, sorted so that one look at a value tells which of them can match:
 *
 *     'a' | 'b' | { op: '+', x: number } | { op: '-', x: number } | string[]
 *     literals    byKey, key = 'op'                                 others
 */
export interface Alternatives {
  readonly literals: readonly Scalar[];
  /** The member whose literal tells the alternatives in `byKey` apart. */
  readonly key: string | undefined;
  /** By the literal of that member. */
  readonly byKey: ReadonlyMap<Scalar, readonly TSchema[]>;
  /** All others, tried one after the other. */
  readonly others: readonly TSchema[];
}

export function alternativesOf(union: TSchema, names: Names): Alternatives {
  const literals: Scalar[] = [];
  const rest: TSchema[] = [];
  for (const variant of (union.anyOf ?? []) as TSchema[]) {
    if (kindOf(variant) === 'Literal') literals.push(variant.const as Scalar);
    else rest.push(variant);
  }
  const tags = rest.map((variant) => tagsOf(targetOf(variant, names) ?? variant));
  const key = commonest(tags);
  const byKey = new Map<Scalar, TSchema[]>();
  const others: TSchema[] = [];
  for (const [index, variant] of rest.entries()) {
    const tag = key === undefined ? undefined : tags[index]?.get(key);
    if (tag === undefined) others.push(variant);
    else byKey.set(tag, [...(byKey.get(tag) ?? []), variant]);
  }
  return { literals, key, byKey, others };
}

/** The required members of an object schema that are literals, with their literals. */
export function tagsOf(schema: TSchema): ReadonlyMap<string, Scalar> {
  const tags = new Map<string, Scalar>();
  if (kindOf(schema) !== 'Object') return tags;
  const required = new Set((schema.required ?? []) as string[]);
  for (const [name, member] of Object.entries(schema.properties as Record<string, TSchema>)) {
    if (required.has(name) && kindOf(member) === 'Literal') tags.set(name, member.const as Scalar);
  }
  return tags;
}

/** The name that occurs most often; undefined where none occurs twice. */
function commonest(all: readonly ReadonlyMap<string, Scalar>[]): string | undefined {
  const counts = new Map<string, number>();
  for (const tags of all) {
    for (const name of tags.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([, a], [, b]) => b - a);
  return best !== undefined && best[1] > 1 ? best[0] : undefined;
}
