import { isAnyArrayBuffer } from 'node:util/types';
import type { TSchema } from '@sinclair/typebox';
import { isLost, lossText, RefusedPart } from '../result-fault.ts';
import { type Scalar, tagsOf } from './alternatives.ts';
import { bytesKind, toBase64 } from './bytes.ts';
import type { Checks } from './checks.ts';

// What the compiled code of a projection calls. Its values are parts of a result, of which nothing is known yet.

export type Project = (value: unknown) => unknown;
type Members = Record<string, unknown>;

export interface Variant {
  /** As the union names it. */
  readonly schema: TSchema;
  /** What the variant refers to. */
  readonly resolved: TSchema;
  /** What it takes; `any`: arrays or objects. */
  readonly shape: 'scalar' | 'bytes' | 'array' | 'object' | 'any' | 'open';
}

const scalarKinds = new Set(
  'String TemplateLiteral Number Integer Boolean Null Literal Undefined Void Never'.split(' '),
);

export function shapeOf(kind: string): Variant['shape'] {
  if (scalarKinds.has(kind)) return 'scalar';
  if (kind === bytesKind) return 'bytes';
  if (kind === 'Array' || kind === 'Tuple') return 'array';
  if (kind === 'Object' || kind === 'Record') return 'object';
  return ['Union', 'Intersect', 'Ref', 'Import', 'This'].includes(kind) ? 'any' : 'open';
}

/** @param declared what stands in `returns` in place of the part */
export function misplaced(part: object, declared: string): RefusedPart {
  return isLost(part)
    ? new RefusedPart(part, lossText(part))
    : new RefusedPart(part, ` where returns declares an ${declared}`);
}

/** An object where no object is declared: one that says what it is in JSON, such as a Date, may be a text or a number. */
export function scalar(part: object): unknown {
  const value = jsonOf(part);
  if (typeof value !== 'object' || value === null) return value;
  throw isLost(part)
    ? new RefusedPart(part, lossText(part))
    : new RefusedPart(part, ' where returns declares neither an object nor an array');
}

export function bytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return toBase64(value);
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value))
    throw new RefusedPart(value, ' where returns declares bytes: return a Uint8Array of it');
  return typeof value === 'object' && value !== null ? scalar(value) : value;
}

/** What an object says it is in JSON: a Buffer would say that it is an object of numbers. */
export function jsonOf(part: object): unknown {
  if (ArrayBuffer.isView(part)) throw new RefusedPart(part, lossText(part));
  const { toJSON } = part as { toJSON?: unknown };
  return typeof toJSON === 'function' ? (toJSON.call(part, '') as unknown) : part;
}

/** The items of an array of scalars: the array itself where none of them is an object. */
export function eachScalar(items: readonly unknown[]): readonly unknown[] {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item === 'object' && item !== null)
      return items.map((one) => (typeof one === 'object' && one !== null ? scalar(one) : one));
  }
  return items;
}

/** Refuses an object of which JSON keeps nothing, such as a Map, where none of the declared members was found in it. */
export function seenEmpty(part: object, projected: object): void {
  if (!isLost(part)) return;
  for (const member of Object.values(projected)) if (member !== undefined) return;
  throw new RefusedPart(part, lossText(part));
}

/** A copy of an object with the members that are not in `names`, each projected. */
export function copyRest(part: object, names: ReadonlySet<string>, project: Project): Members {
  const copy: Members = {};
  for (const [name, value] of Object.entries(part)) {
    if (!names.has(name)) put(copy, name, project(value));
  }
  return copy;
}

/** The projection of a record: `rest` is for names that do not match the pattern, and leaves them out where it is undefined. */
export function recordOf(
  pattern: RegExp,
): (part: object, member: Project, rest: Project | undefined) => Members {
  return (part, member, rest) => {
    if (ArrayBuffer.isView(part)) throw new RefusedPart(part, lossText(part));
    const copy: Members = {};
    let count = 0;
    for (const [name, value] of Object.entries(part)) {
      const project = pattern.test(name) ? member : rest;
      if (project === undefined || value === undefined) continue;
      put(copy, name, project(value));
      count++;
    }
    if (count === 0) seenEmpty(part, copy);
    return copy;
  };
}

/** Sets a member that may be called __proto__. */
function put(object: Members, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  else object[name] = value;
}

interface Picker {
  readonly pick: (value: unknown, projects: readonly Project[]) => unknown;
  /** Whether a value may have to be projected onto several variants before one is known to match. */
  readonly tries: boolean;
}

/**
 * Chooses the variants of a union by a literal that tells them apart, else by their checks. A value that several variants
 * match is sent with the members of all of them. One that none matches keeps no name that none of them declares.
 */
export function variantPicker(
  variants: readonly Variant[],
  takesBytes: boolean,
  checks: Checks,
): Picker {
  const indexes = variants.map((_, index) => index);
  const shaped = (shape: string): number[] =>
    indexes.filter((index) => [shape, 'any'].includes(variants[index]?.shape ?? ''));
  const arrays = shaped('array');
  const objects = shaped('object');
  const { key, byTag } = tagTable(variants, objects);
  const candidatesFor = (part: object): readonly number[] => {
    if (Array.isArray(part)) return arrays;
    return (key === undefined ? undefined : byTag.get((part as Members)[key])) ?? objects;
  };
  const matches = (index: number, projected: unknown): boolean =>
    checks.matches((variants[index] as Variant).schema, projected);
  const pick = (value: unknown, projects: readonly Project[]): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (takesBytes && value instanceof Uint8Array) return toBase64(value);
    const part = jsonOf(value);
    if (typeof part !== 'object' || part === null) return part;
    const candidates = candidatesFor(part);
    const [only] = candidates;
    if (only === undefined) throw misplaced(part, Array.isArray(part) ? 'object' : 'array');
    if (candidates.length === 1) return (projects[only] as Project)(part);
    return tryEach(part, candidates, projects, matches);
  };
  const groups = [arrays, key === undefined ? objects : [], ...byTag.values()];
  return { pick, tries: groups.some((group) => group.length > 1) };
}

/** The literals of the first member that is one in every object, each with the variants that have it. */
function tagTable(
  variants: readonly Variant[],
  objects: readonly number[],
): { readonly key: string | undefined; readonly byTag: ReadonlyMap<unknown, readonly number[]> } {
  const tags = objects.map((index) => tagsOf((variants[index] as Variant).resolved));
  const key = [...(tags[0]?.keys() ?? [])].find((name) => tags.every((tag) => tag.has(name)));
  const byTag = new Map<Scalar, number[]>();
  if (key === undefined) return { key, byTag };
  for (const [at, index] of objects.entries()) {
    const tag = tags[at]?.get(key) as Scalar;
    byTag.set(tag, [...(byTag.get(tag) ?? []), index]);
  }
  return { key, byTag };
}

function tryEach(
  part: object,
  candidates: readonly number[],
  projects: readonly Project[],
  matches: (index: number, projected: unknown) => boolean,
): unknown {
  const all: unknown[] = [];
  const matching: unknown[] = [];
  let refused: unknown;
  for (const index of candidates) {
    try {
      const projected = (projects[index] as Project)(part);
      all.push(projected);
      if (matches(index, projected)) matching.push(projected);
    } catch (error) {
      if (!(error instanceof RefusedPart)) throw error;
      refused = error;
    }
  }
  if (all.length === 0) throw refused;
  return merged(matching.length > 0 ? matching : all);
}

/** Projections of one value, with the members of all of them. */
export function merged(projections: readonly unknown[]): unknown {
  return projections.reduce(mergeTwo);
}

function mergeTwo(one: unknown, other: unknown): unknown {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return one;
  if (one === other) return one;
  if (Array.isArray(one)) {
    return Array.isArray(other) ? one.map((item, index) => mergeTwo(item, other[index])) : one;
  }
  const joined: Members = {};
  for (const [name, value] of [...Object.entries(other), ...Object.entries(one)]) {
    const given = Object.hasOwn(joined, name) ? joined[name] : undefined;
    if (given === undefined || value !== undefined)
      put(joined, name, given === undefined ? value : mergeTwo(value, given));
  }
  return joined;
}
