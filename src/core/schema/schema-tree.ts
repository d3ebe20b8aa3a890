import { isObject } from '../protocol/body.ts';
import { keywords } from './keywords.ts';
import { escapePointer } from './pointer.ts';
import type { JsonSchema } from './write-json.ts';

/** Walks through JSON Schemas of documents. The keywords that hold schemas are those of the table. */

const holders = keywords.flatMap(({ name, children }) =>
  children === undefined ? [] : [{ name, ...children }],
);

/**
 * The schema with each child replaced by what `visit` returns: a shallow copy, or the schema itself if all children stay. A
 * child may be true or false, which stays as it is.
 *
 * @param visit gets the step from the value to what the child describes: `/name`, `/*` for items and members of any name, `/0`
 *   in a tuple, '' for the value itself (unions, $defs)
 */
export function mapPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string, keyword: string) => JsonSchema,
): JsonSchema {
  let copy: JsonSchema | undefined;
  const replace = (name: string, held: unknown): void => {
    copy ??= { ...schema };
    copy[name] = held;
  };
  for (const { name, one, list, map } of holders) {
    const held = schema[name];
    if (typeof held !== 'object' || held === null) continue;
    const isList = Array.isArray(held);
    const step = isList ? list : map;
    const made = (child: unknown, segment: string): unknown =>
      isObject(child) ? visit(child, segment, name) : child;
    if (step !== undefined) {
      const children = Object.entries(held);
      const changed = children.map(([key, child]) => made(child, segmentOf(step, key)));
      if (changed.every((child, index) => child === children[index]?.[1])) continue;
      // `fromEntries` keeps a member called __proto__ a member.
      const members = children.map(([key], index) => [key, changed[index]] as const);
      replace(name, isList ? changed : Object.fromEntries(members));
    } else if (!isList && one !== undefined) {
      const changed = made(held, segmentOf(one, ''));
      if (changed !== held) replace(name, changed);
    }
  }
  return copy ?? schema;
}

function segmentOf(step: string, key: string): string {
  return step === 'key' ? `/${escapePointer(key)}` : step;
}

/** The list itself, or an empty one instead of anything else. */
export function listOf<Item>(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}

/** The members that are not undefined, in their order. */
export function defined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as T;
}
