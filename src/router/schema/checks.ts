import { ExtendsUndefinedCheck, Kind, type TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { RegistrationError } from '../registration-error.ts';
import { Matcher } from './matcher.ts';
import { overlapOf } from './overlap.ts';
import {
  forEachChild,
  holdsDefault,
  holdsName,
  kindOf,
  literalsFirst,
  mapTree,
  type Names,
  namesIn,
  targetOf,
} from './schema-tree.ts';
import type { Check } from './value-checks.ts';

/**
 * The checks of one schema and of its parts, made at registration. Each takes a time that is bounded by the size of the
 * value times the number of parts of the schema.
 */
export interface Checks {
  /** Of the whole schema. */
  readonly check: Check;
  /** Of a part, made for many calls. */
  ofPart(part: TSchema): Check;
  /** The same, made for few. */
  matches(part: TSchema, value: unknown): boolean;
  /** Within it `matches` looks at nothing twice. `work` must not change what was looked at. */
  remembering<Result>(work: () => Result): Result;
  /** What a Ref, This or Import stands for. */
  resolve(schema: TSchema): TSchema | undefined;
}

/**
 * Compiled by TypeBox where its code looks at no part of a value again and again, else by a {@link Matcher}, which is
 * slower for what is small. The matcher also takes the place of code that would be wrong.
 *
 * @param where begins each message, e.g. `procedure "add": params`
 * @throws RegistrationError for a schema that neither checks in a bounded time
 */
export function createChecks(root: TSchema, where: string): Checks {
  const names = namesIn(root);
  const { fault, again, tagged } = overlapOf(root, names);
  if (fault !== undefined) throw new RegistrationError(`${where}: ${fault}`);
  const matcher = new Matcher(root, names);
  const isMatched = again || hasUnseenGap(root, matcher);
  const matching =
    (part: TSchema): Check =>
    (value) =>
      matcher.matches(part, value);
  return {
    check: isMatched ? matching(root) : compile(root, names, tagged),
    ofPart: (part) =>
      isMatched || holdsName(part) ? matching(part) : compile(part, names, tagged),
    matches: (part, value) => matcher.matches(part, value),
    remembering: (work) => matcher.remembering(work),
    resolve: (schema) => targetOf(schema, names),
  };
}

function compile(schema: TSchema, names: Names, tagged: boolean): Check {
  const ordered = tagged ? mapTree(schema, withLiteralsFirst) : schema;
  const references = tagged ? [...namesIn(ordered).values()] : [...names.values()];
  const typeCheck = TypeCompiler.Compile(ordered, references);
  return (value) => typeCheck.Check(value);
}

/**
 * Whether a member is required whose schema takes `undefined`, a Not say. TypeBox then looks whether the member is there
 * only where it can tell that from the kind.
 */
function hasUnseenGap(schema: TSchema, matcher: Matcher): boolean {
  let found = false;
  const visit = (node: TSchema): void => {
    const required = kindOf(node) === 'Object' ? ((node.required ?? []) as string[]) : [];
    found ||= required.some((name) => {
      const member = (node.properties as Record<string, TSchema>)[name];
      return member !== undefined && !isSeenGap(member) && takesNothing(member, matcher);
    });
    forEachChild(node, visit);
  };
  visit(schema);
  return found;
}

function isSeenGap(member: TSchema): boolean {
  return ['Any', 'Unknown'].includes(kindOf(member) ?? '') || ExtendsUndefinedCheck(member);
}

function takesNothing(member: TSchema, matcher: Matcher): boolean {
  try {
    return matcher.matches(member, undefined);
  } catch {
    return false; // the check of a custom kind, which will throw at a call as well
  }
}

function withLiteralsFirst(schema: TSchema): TSchema {
  if (kindOf(schema) !== 'Object') return schema;
  const properties = schema.properties as Record<string, TSchema>;
  return { ...schema, properties: Object.fromEntries(literalsFirst(properties)) };
}
/** TypeBox resolves a This only within the check of its own root: as a Ref its parts compile alone too. */
export function thisAsRef(schema: TSchema): TSchema {
  return kindOf(schema) === 'This' ? { ...schema, [Kind]: 'Ref' } : schema;
}

/**
 * TypeBox looks whether a required member is there at all where its schema is `unknown`, and forgets to where a union
 * or an intersection comes to the same: `{}` then passes for `{ a: unknown | number }`.
 */
export function openAsUnknown(schema: TSchema): TSchema {
  if (!isOpen(schema)) return schema;
  const { anyOf: _union, allOf: _intersection, ...others } = schema;
  return { ...others, [Kind]: 'Unknown' } as TSchema;
}

/** Takes every value, and has no part whose defaults could be filled in. */
function isOpen(schema: TSchema): boolean {
  const parts: unknown = schema.anyOf ?? schema.allOf;
  if (!Array.isArray(parts) || schema.unevaluatedProperties !== undefined) return false;
  const isAny = (part: TSchema) => ['Any', 'Unknown'].includes(kindOf(part) ?? '');
  if (kindOf(schema) === 'Intersect') return parts.every(isAny);
  return kindOf(schema) === 'Union' && parts.some(isAny) && !holdsDefault(schema);
}
