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
 * The checks of one schema and of its parts, made at registration. The time of each check is bounded by the size of the
 * value times the number of parts of the schema.
 */
export interface Checks {
  /** Checks a value against the whole schema. */
  readonly check: Check;
  /** Makes the check of a part, for many calls. */
  ofPart(part: TSchema): Check;
  /** Checks a value against a part, without the cost of making a check for many calls. */
  matches(part: TSchema, value: unknown): boolean;
  /** Runs `work`, in which `matches` remembers its verdicts. `work` must not change the values it passes to `matches`. */
  remembering<Result>(work: () => Result): Result;
  /** The schema that a Ref, This or Import refers to. */
  resolve(schema: TSchema): TSchema | undefined;
}

/**
 * Makes the checks of a schema. TypeBox compiles them, unless its code could look at one part of a value again and
 * again, or would be wrong: then a {@link Matcher} checks, which is slower for small values.
 *
 * @param where begins each message, e.g. `procedure "add": params`
 * @throws RegistrationError for a schema that neither of the two can check in a bounded time
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
 * Whether the schema requires a member whose own schema accepts `undefined` (a Not, for example). TypeBox's code checks
 * that such a member is present only for the kinds that it knows to accept `undefined`.
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
    return false; // the check of a custom kind threw; it will throw at a call as well
  }
}

function withLiteralsFirst(schema: TSchema): TSchema {
  if (kindOf(schema) !== 'Object') return schema;
  const properties = schema.properties as Record<string, TSchema>;
  return { ...schema, properties: Object.fromEntries(literalsFirst(properties)) };
}

/** TypeBox resolves a This only within the check of its own root. As a Ref, a part that holds it compiles alone too. */
export function thisAsRef(schema: TSchema): TSchema {
  return kindOf(schema) === 'This' ? { ...schema, [Kind]: 'Ref' } : schema;
}

/**
 * Replaces a union or an intersection that accepts everything by `unknown`. TypeBox checks that a required member is
 * present where its schema is `unknown`, but not where it is such a union: `{}` would match `{ a: unknown | number }`.
 */
export function openAsUnknown(schema: TSchema): TSchema {
  if (!isOpen(schema)) return schema;
  const { anyOf: _union, allOf: _intersection, ...others } = schema;
  return { ...others, [Kind]: 'Unknown' } as TSchema;
}

/** Whether a schema accepts every value and has no part with a default to fill in. */
function isOpen(schema: TSchema): boolean {
  const parts: unknown = schema.anyOf ?? schema.allOf;
  if (!Array.isArray(parts) || schema.unevaluatedProperties !== undefined) return false;
  const isAny = (part: TSchema) => ['Any', 'Unknown'].includes(kindOf(part) ?? '');
  if (kindOf(schema) === 'Intersect') return parts.every(isAny);
  return kindOf(schema) === 'Union' && parts.some(isAny) && !holdsDefault(schema);
}
