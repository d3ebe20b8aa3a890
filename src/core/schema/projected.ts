import { isAnyArrayBuffer } from 'node:util/types';
import { toBase64 } from './bytes.ts';
import type { Checks } from './check.ts';
import type { Check } from './keywords.ts';
import { type SchemaNode, tagsOf } from './model.ts';
import { byLiteral } from './overlap.ts';
import { isLost, lossText, RefusedPart } from './result.ts';

// What the compiled code of a projection calls. Its values are parts of a result, of which nothing is known yet.

export type Project = (value: unknown) => unknown;
type Members = Record<string, unknown>;

/** What a schema takes; `any`: arrays and objects, as its parts do; `open`: what nobody knows. */
export type Shape = 'scalar' | 'bytes' | 'array' | 'object' | 'any' | 'open';

export interface Variant {
  /** As the union names it. */
  readonly node: SchemaNode;
  readonly resolved: SchemaNode;
  readonly shape: Shape;
}

/** @param declared what stands in `returns` instead of the part */
export function misplaced(part: object, declared: string): RefusedPart {
  return refused(part, ` where returns declares an ${declared}`);
}

function refused(part: object, why: string): RefusedPart {
  return new RefusedPart(part, isLost(part) ? lossText(part) : why);
}

/** What an object is if no object is declared. One with a `toJSON`, such as a Date, may be a text or a number. */
export function scalar(part: object): unknown {
  const value = jsonOf(part);
  if (typeof value !== 'object' || value === null) return value;
  throw refused(part, ' where returns declares neither an object nor an array');
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

/** The items of an array of scalars: the array itself if none of them is an object. */
export function eachScalar(items: readonly unknown[]): readonly unknown[] {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item === 'object' && item !== null)
      return items.map((one) => (typeof one === 'object' && one !== null ? scalar(one) : one));
  }
  return items;
}

/** Refuses an object of which JSON keeps nothing, such as a Map, if none of the declared members was found in it. */
export function seenEmpty(part: object, projected: object): void {
  if (!isLost(part)) return;
  for (const member of Object.values(projected)) if (member !== undefined) return;
  throw new RefusedPart(part, lossText(part));
}

/** A copy of an object with the members that are not `declared`, each projected. */
export function copyRest(part: object, declared: ReadonlySet<string>, project: Project): Members {
  const copy: Members = {};
  for (const [name, value] of membersOf(part)) {
    if (value !== undefined && !declared.has(name)) put(copy, name, project(value));
  }
  return copy;
}

interface RankedPattern {
  readonly names: RegExp;
  readonly rank: number;
}

/**
 * The function that copies the members whose names match a pattern, each projected onto all that it matches.
 *
 * @param patterns the highest rank first: a member is projected onto those of the same rank
 * @returns its param `rest` is for names that match no pattern; undefined leaves them out
 */
export function patternCopier(
  patterns: readonly RankedPattern[],
  declared: ReadonlySet<string>,
): (part: object, projects: readonly Project[], rest: Project | undefined) => Members {
  return (part, projects, rest) => {
    const copy: Members = {};
    for (const [name, value] of membersOf(part)) {
      if (value === undefined || declared.has(name)) continue;
      let made: unknown;
      let found: number | undefined;
      for (let index = 0; index < patterns.length; index++) {
        const { names, rank } = patterns[index] as RankedPattern;
        if (found !== undefined && rank < found) break;
        if (!names.test(name)) continue;
        const projected = (projects[index] as Project)(value);
        made = found === undefined ? projected : mergeTwo(made, projected);
        found = rank;
      }
      if (found !== undefined) put(copy, name, made);
      else if (rest !== undefined) put(copy, name, rest(value));
    }
    return copy;
  };
}

/** The members of an object that may have members of any name. The bytes of a buffer would be some. */
function membersOf(part: object): [name: string, value: unknown][] {
  if (ArrayBuffer.isView(part)) throw new RefusedPart(part, lossText(part));
  return Object.entries(part);
}

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

/**
 * Chooses the variants of a union by a literal that tells them apart, else by their checks. A value that several variants
 * match is sent with the members of all of them. One that none matches keeps no name that none of them declares.
 *
 * @returns tries: whether a value may have to be projected onto several variants before one is known to match
 */
export function variantPicker(variants: readonly Variant[], takesBytes: boolean, checks: Checks) {
  const indexes = variants.map((_, index) => index);
  const shaped = (shape: Shape): number[] =>
    indexes.filter((index) => [shape, 'any'].includes(variants[index]?.shape ?? ''));
  const arrays = shaped('array');
  const objects = shaped('object');
  const { key, byKey, others } = byLiteral(objects, (index) =>
    tagsOf((variants[index] as Variant).resolved),
  );
  // A literal tells the objects apart if all of them have it.
  const tag = others.length === 0 ? key : undefined;
  const candidatesFor = (part: object): readonly number[] => {
    if (Array.isArray(part)) return arrays;
    return (tag === undefined ? undefined : byKey.get((part as Members)[tag])) ?? objects;
  };
  const matching = variants.map(({ node }) => checks.ofPart(node));
  const pick = (value: unknown, projects: readonly Project[]): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (takesBytes && value instanceof Uint8Array) return toBase64(value);
    const part = jsonOf(value);
    if (typeof part !== 'object' || part === null) return part;
    const candidates = candidatesFor(part);
    const [only] = candidates;
    if (only === undefined) throw misplaced(part, Array.isArray(part) ? 'object' : 'array');
    if (candidates.length === 1) return (projects[only] as Project)(part);
    return tryEach(part, candidates, projects, matching);
  };
  const groups = [arrays, ...(tag === undefined ? [objects] : byKey.values())];
  return { pick, tries: groups.some((group) => group.length > 1) };
}

function tryEach(
  part: object,
  candidates: readonly number[],
  projects: readonly Project[],
  checks: readonly Check[],
): unknown {
  const all: unknown[] = [];
  const matching: unknown[] = [];
  let refused: unknown;
  for (const index of candidates) {
    try {
      const projected = (projects[index] as Project)(part);
      all.push(projected);
      if ((checks[index] as Check)(projected)) matching.push(projected);
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
