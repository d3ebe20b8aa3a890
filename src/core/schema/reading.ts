import { cached } from '../base/cached.ts';
import { defined } from '../base/defined.ts';
import { RegistrationError } from '../base/registration-error.ts';
import { isObject } from '../base/value-kinds.ts';
import { keywordNamed, type LimitedType, limitsOf, ownValueFault } from './keywords.ts';
import {
  endlessType,
  forEachPart,
  intersectionOf,
  type RefNode,
  type SchemaNode,
  unionOf,
} from './model.ts';
import { unicodeFault } from './pattern-syntax.ts';

/** Most parts of a schema that is written out, as its document and its type's text are. A part in two places counts twice. */
export const maxParts = 10_000;

export const maxDepth = 64;

export type Given = Readonly<Record<string, unknown>>;

/** A node without its limits and notes, with the keywords that it was made of. */
export interface Draft {
  readonly kind: SchemaNode['kind'];
  readonly reads?: readonly string[];
  readonly [member: string]: unknown;
}

/** The type whose keywords limit the values of a kind. Other kinds have values of several types, or no limits. */
export const limitedTypes: Readonly<Partial<Record<SchemaNode['kind'], LimitedType>>> = {
  number: 'number',
  integer: 'number',
  string: 'string',
  array: 'array',
  object: 'object',
};

const ofSeveralTypes = new Set<SchemaNode['kind']>([
  'unknown',
  'union',
  'intersection',
  'not',
  'ref',
]);

/** Keywords that every reader reads by itself, or that a value's own kind says. */
const structural = new Set([
  'type',
  '$ref',
  '$id',
  '$anchor',
  '$defs',
  'definitions',
  '$schema',
  'enum',
  'const',
  'anyOf',
  'allOf',
  'not',
]);

/**
 * The node of a draft, with the limits and the notes of the schema that it was made of. A keyword that rules nothing out of the
 * kind's values is a note: `maxLength` of an integer.
 *
 * @param refuse is given a keyword that would be published and not checked
 */
export function nodeOf(given: Given, draft: Draft, refuse: (fault: string) => never): SchemaNode {
  const { reads = [], ...own } = draft;
  const type = limitedTypes[draft.kind];
  const limits: Record<string, unknown> = {};
  const notes: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(given)) {
    if (value === undefined || reads.includes(keyword) || structural.has(keyword)) continue;
    const row = keywordNamed(keyword);
    if (row?.instead !== undefined) refuse(`${keyword} is not checked here; ${row.instead}`);
    if (row?.type === undefined || row.describes === true) notes[keyword] = value;
    else if (row.type === type) {
      const fault = ownValueFault(row, value);
      if (fault !== undefined) refuse(`${keyword} ${fault}`);
      limits[keyword] = value;
    } else if (ofSeveralTypes.has(draft.kind)) {
      refuse(
        `${keyword} stands beside values of several types; put it on the ${row.type} that it is about`,
      );
    } else notes[keyword] = value;
  }
  return closed({ ...defined(own), ...limits, notes } as unknown as SchemaNode);
}

/** An array that takes no item after the first ones is as long as these: what is longer is refused for its length. */
function closed(node: SchemaNode): SchemaNode {
  if (node.kind !== 'array' || node.rest.kind !== 'never') return node;
  const { prefix, maxItems = prefix.length } = node;
  return { ...node, maxItems: Math.min(maxItems, prefix.length) };
}

/**
 * A node of the values that `enum` and `const` beside it leave: literals, so that documents and types say what is checked.
 *
 * @param refuse is called if none is left
 */
export function narrowed(
  given: Given,
  node: SchemaNode,
  refuse: (fault: string) => never,
): SchemaNode {
  if (node.kind === 'literal') return node;
  let values = Array.isArray(given.enum) ? (given.enum as unknown[]) : undefined;
  if (given.const !== undefined) values = [given.const];
  if (values === undefined) return node;
  const pattern = node.kind === 'string' ? node.pattern : undefined;
  const fault = pattern === undefined ? undefined : unicodeFault(pattern);
  if (fault !== undefined) refuse(fault);
  const fitting = values.filter((value) => !isScalarKind(node) || fits(node, value));
  if (fitting.length === 0)
    refuse(`none of the values of enum is one of this ${node.kind}; write some that are`);
  const one = literals(fitting);
  return isScalarKind(node) ? { ...one, notes: node.notes } : conjunction(node, [one]);
}

/** The node of some values. */
export function literals(values: readonly unknown[]): SchemaNode {
  const all = values.map(
    (value): SchemaNode =>
      value === null ? { kind: 'null', notes: {} } : { kind: 'literal', value, notes: {} },
  );
  const [only] = all;
  if (only === undefined) return { kind: 'never', notes: {} };
  return all.length === 1 ? only : unionOf(all);
}

/** A node that has to match others too. */
export function conjunction(node: SchemaNode, others: readonly SchemaNode[]): SchemaNode {
  return others.length === 0
    ? node
    : intersectionOf([{ ...node, notes: {} }, ...others], node.notes);
}

const scalarKinds = new Set<SchemaNode['kind']>([
  'unknown',
  'null',
  'boolean',
  'number',
  'integer',
  'string',
]);

function isScalarKind(node: SchemaNode): boolean {
  return scalarKinds.has(node.kind);
}

function fits(node: SchemaNode, value: unknown): boolean {
  if (node.kind === 'unknown') return true;
  if (!isOfType(value, node.kind)) return false;
  return limitsOf(node, limitedTypes[node.kind]).every(
    ({ row: { check }, limit }) => check?.(limit as never)(value) !== false,
  );
}

/** Whether a value is of a type of JSON Schema. */
export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** @throws RegistrationError that names the place in the schema */
export function refuseAt(where: string, path: string, fault: string): never {
  throw new RegistrationError(`${where}${path === '' ? '' : ` at ${path}`}: ${fault}`);
}

const endless =
  'a type in it holds itself without a step into the value, so that a check would never end; put it in a member or an item';

/** Whether a name was made up by counting: TypeBox counts all recursive types of the thread. */
export function isMadeUp(name: string): boolean {
  return /^T\d+$/.test(name);
}

/** The names of the types of one schema, or of one document. */
export class Names {
  readonly #isDocument: boolean;
  readonly #nodes = new Map<string, SchemaNode>();
  /** Of the names that were made up. */
  readonly #shown = new Map<string, string>();

  constructor(isDocument = false) {
    this.#isDocument = isDocument;
  }

  /** The name as documents show it: replicas that have made other types before give the same. */
  shown(name: string): string {
    if (this.#isDocument || !isMadeUp(name)) return name;
    return cached(this.#shown, name, () => `T${this.#shown.size}`);
  }

  add(name: string, node: SchemaNode): SchemaNode {
    const named = { ...node, name: this.shown(name) };
    this.#nodes.set(named.name, named);
    return named;
  }

  /**
   * Leads every reference to its node.
   *
   * @param refuse is given what a schema lacks: a node that is no reference. In a document a type that holds itself without a
   *   step into the value is one of any value
   */
  link(roots: readonly SchemaNode[], refuse: (fault: string) => never): void {
    const visit = (node: SchemaNode): void => {
      if (node.kind !== 'ref') {
        forEachPart(node, visit);
        return;
      }
      node.target = this.#nodes.get(node.to) as SchemaNode; // Each reference has led to a type.
    };
    for (const node of [...roots, ...this.#nodes.values()]) visit(node);
    const endlessOnes = endlessTypes([...this.#nodes.values()]);
    if (endlessOnes.size > 0 && !this.#isDocument) refuse(endless);
    for (const node of endlessOnes) {
      for (const ref of refsInPlace(node))
        if (endlessOnes.has(ref.target)) ref.target = endlessType;
    }
  }
}

/** The references that stand for the value of a node itself. */
function refsInPlace(node: SchemaNode, refs: RefNode[] = []): readonly RefNode[] {
  if (node.kind === 'ref') refs.push(node);
  else
    forEachPart(node, (part, step) => {
      if (step === '') refsInPlace(part, refs);
    });
  return refs;
}

/**
 * The types that lead to themselves without a step into the value, directly or through others, and those that lead to such a
 * type. Types that lead to nothing are taken out, then those that led only to them, and so on: the rest has no end.
 */
function endlessTypes(types: readonly SchemaNode[]): ReadonlySet<SchemaNode> {
  const users = new Map<SchemaNode, SchemaNode[]>();
  const open = new Map<SchemaNode, number>();
  for (const type of types) {
    const targets = new Set(refsInPlace(type).map(({ target }) => target));
    open.set(type, targets.size);
    for (const target of targets) cached(users, target, () => []).push(type);
  }
  const ready = types.filter((type) => open.get(type) === 0);
  for (const type of ready) {
    for (const user of users.get(type) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) ready.push(user);
    }
  }
  return new Set(types.filter((type) => open.get(type) !== 0));
}

/** The list itself, or an empty one instead of anything else. */
export function listOf<Item>(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}
