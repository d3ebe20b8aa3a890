import { jsonTypeOf } from '../base/value-kinds.ts';
import { escapePointer } from './pointer.ts';

/**
 * The one model of schemas. `json-schema.ts` makes these nodes of a JSON Schema, whatever library has made that.
 * Checks, defaults, projection, messages, documents and type texts work on them.
 *
 * Every limit is a member of its node under the name that JSON Schema gives it, so that a row of `keywords.ts` finds it there.
 * A node stands at one place: two places that hold equal schemas have a node each. Only `ref` leads to a node a second time.
 */
export type SchemaNode =
  | PlainNode
  | NumberNode
  | StringNode
  | BytesNode
  | LiteralNode
  | ArrayNode
  | ObjectNode
  | UnionNode
  | IntersectionNode
  | NotNode
  | RefNode
  | CustomNode;

export interface Common {
  /** The name of a type, to which references lead. A name that its author did not give is T and a number. */
  readonly name?: string | undefined;
  /**
   * What describes a value and rules none out: title, description, default, examples, deprecated, content encodings, and what
   * is no keyword of JSON Schema. Documents show it as it is.
   */
  readonly notes: Notes;
}

export type Notes = Readonly<Record<string, unknown>>;

export interface PlainNode extends Common {
  /** `void` is the result of a procedure that returns nothing: undefined here, null on the wire. */
  readonly kind: 'unknown' | 'never' | 'null' | 'boolean' | 'undefined' | 'void';
}

export interface NumberNode extends Common {
  readonly kind: 'number' | 'integer';
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
}

export interface StringNode extends Common {
  readonly kind: 'string';
  /** In code points. */
  readonly minLength?: number;
  /** Registration sets it if the author has not, and the pattern needs it. */
  maxLength?: number;
  isLimitedByPattern?: true;
  readonly pattern?: string;
  readonly format?: string;
}

/** Base64 text in JSON, a Uint8Array for the handler. */
export interface BytesNode extends Common {
  readonly kind: 'bytes';
  readonly maxBytes?: number;
}

export interface LiteralNode extends Common {
  readonly kind: 'literal';
  /** A JSON value; arrays and objects are equal by their content. */
  readonly value: unknown;
}

/** Arrays, tuples among them: a tuple takes no item after the first ones. */
export interface ArrayNode extends Common {
  readonly kind: 'array';
  /** The first items, each by its position. */
  readonly prefix: readonly SchemaNode[];
  /** The items after them. */
  readonly rest: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly contains?: SchemaNode;
  readonly minContains?: number;
  readonly maxContains?: number;
}

export interface Member {
  readonly name: string;
  readonly node: SchemaNode;
  readonly isRequired: boolean;
}

/** The members whose names match an expression. */
export interface NamePattern {
  readonly pattern: string;
  readonly names: RegExp;
  readonly node: SchemaNode;
}

/** Objects, records among them: a record declares no member by its name. */
export interface ObjectNode extends Common {
  readonly kind: 'object';
  /** In the order in which they were declared, which is that of positional params. */
  readonly members: readonly Member[];
  readonly patterns: readonly NamePattern[];
  /**
   * The members that nothing else declares. undefined: nothing is said of them; a check lets them pass, and a projection leaves
   * them out.
   */
  readonly rest: SchemaNode | undefined;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly propertyNames?: SchemaNode;
  /** The members that have to be there beside the one of the name. */
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
}

export interface UnionNode extends Common {
  readonly kind: 'union';
  readonly variants: readonly SchemaNode[];
  /** Written as `oneOf`: a literal says which variant a value is of, and a library looks at no other. */
  readonly isExclusive?: boolean;
}

export interface IntersectionNode extends Common {
  readonly kind: 'intersection';
  readonly parts: readonly SchemaNode[];
  /** The members that no part declares. undefined: nothing is said of them. */
  readonly unevaluated?: SchemaNode | undefined;
}

export interface NotNode extends Common {
  readonly kind: 'not';
  readonly node: SchemaNode;
}

export interface RefNode extends Common {
  readonly kind: 'ref';
  readonly to: string;
  /** The node of that name. Set when the whole schema has been read. */
  target: SchemaNode;
}

/** A kind of the program's own, with the check that it gave to TypeBox's TypeRegistry. */
export interface CustomNode extends Common {
  readonly kind: 'custom';
  readonly check: (value: unknown) => boolean;
}

/**
 * Visits the parts of a node. All code that walks schemas goes through it. A reference is not followed.
 *
 * @param visit gets the step from the value to what the part describes: `/name` for a member, `/0` for an item of a tuple, `/*`
 *   for items and members of any name, '' for the value itself (variants, parts), undefined for a name (`propertyNames`)
 */
export function forEachPart(
  node: SchemaNode,
  visit: (part: SchemaNode, step: string | undefined) => void,
): void {
  switch (node.kind) {
    case 'object':
      for (const { name, node: member } of node.members) visit(member, `/${escapePointer(name)}`);
      for (const { node: member } of node.patterns) visit(member, '/*');
      if (node.rest !== undefined) visit(node.rest, '/*');
      if (node.propertyNames !== undefined) visit(node.propertyNames, undefined);
      break;
    case 'array':
      for (const [index, item] of node.prefix.entries()) visit(item, `/${index}`);
      visit(node.rest, '/*');
      if (node.contains !== undefined) visit(node.contains, '/*');
      break;
    case 'union':
      for (const variant of node.variants) visit(variant, '');
      break;
    case 'intersection':
      for (const part of node.parts) visit(part, '');
      if (node.unevaluated !== undefined) visit(node.unevaluated, '/*');
      break;
    case 'not':
      visit(node.node, '');
      break;
  }
}

/** Whether a test holds of the node, of a part of it, or of a type that it refers to. */
export function someWithin(root: SchemaNode, test: (node: SchemaNode) => boolean): boolean {
  // Without recursion: a document may have a long chain of types. What is added meanwhile is visited too.
  const nodes = new Set([root]);
  for (const node of nodes) {
    if (test(node)) return true;
    if (node.kind === 'ref') nodes.add(node.target);
    else
      forEachPart(node, (part) => {
        nodes.add(part);
      });
  }
  return false;
}

/** The nodes that describe the same value as a node does: itself, parts of intersections, variants of unions. */
export function inPlace(root: SchemaNode): ReadonlySet<SchemaNode> {
  const nodes = new Set([resolved(root)]);
  for (const node of nodes) {
    const parts =
      node.kind === 'union' ? node.variants : node.kind === 'intersection' ? node.parts : [];
    for (const part of parts) nodes.add(resolved(part));
  }
  return nodes;
}

/** What a reference leads to; another node itself. */
export function resolved(node: SchemaNode): SchemaNode {
  let one = node;
  // A type that is only a reference to itself is refused at registration: this ends.
  while (one.kind === 'ref') one = one.target;
  return one;
}

export function unionOf(variants: readonly SchemaNode[], notes: Notes = {}): SchemaNode {
  return { kind: 'union', notes, variants };
}

/** A node that every one of them has to match. */
export function intersectionOf(parts: readonly SchemaNode[], notes: Notes = {}): SchemaNode {
  return { kind: 'intersection', notes, parts };
}

/** What stands if nothing is declared. */
export const anything: SchemaNode = { kind: 'unknown', notes: {} };

/** A document's type that leads to itself without a step into the value: it says nothing of its values. */
export const endlessType: SchemaNode = { kind: 'unknown', notes: {} };

/** Whether every value passes and none of it is filled in: then nothing need look at it. */
export function takesAnything(node: SchemaNode): boolean {
  switch (node.kind) {
    case 'unknown':
      return true;
    case 'union':
      return (
        node.variants.some(takesAnything) &&
        !someWithin(node, (part) => part !== node && hasDefault(part))
      );
    case 'intersection':
      return node.unevaluated === undefined && node.parts.every(takesAnything);
    default:
      return false;
  }
}

/** The members that a value must have because of others that it has, and that it has not. */
export function missingNames(
  value: object,
  dependentRequired: ObjectNode['dependentRequired'] = {},
): readonly string[] {
  return Object.entries(dependentRequired).flatMap(([name, others]) =>
    Object.hasOwn(value, name) ? others.filter((other) => !Object.hasOwn(value, other)) : [],
  );
}

/** Whether a value may have members that nothing else declares. */
export function takesMore(rest: SchemaNode | undefined): rest is SchemaNode {
  return rest !== undefined && rest.kind !== 'never';
}

/** Whether an object declares no member by its name, but says something of members of other names. */
export function isRecord({ members, patterns, rest }: ObjectNode): boolean {
  return members.length === 0 && (patterns.length > 0 || takesMore(rest));
}

export function hasDefault(node: SchemaNode): boolean {
  return node.notes.default !== undefined;
}

/** Whether undefined may pass, so that a check of the value does not tell whether a member is there. */
export function mayBeUndefined(node: SchemaNode): boolean {
  switch (node.kind) {
    case 'unknown':
    case 'undefined':
    case 'void':
    case 'intersection':
    case 'not':
    case 'ref':
    case 'custom':
      return true;
    case 'union':
      return node.variants.some(mayBeUndefined);
    default:
      return false;
  }
}

/** The JSON type that all values of a node have; undefined: they have several, or it is not known. */
export function typeOfNode(node: SchemaNode): string | undefined {
  switch (node.kind) {
    case 'null':
    case 'boolean':
    case 'number':
    case 'string':
    case 'array':
    case 'object':
      return node.kind;
    case 'void':
      return 'null';
    case 'integer':
      return 'number';
    case 'bytes':
      return 'string';
    case 'literal':
      return jsonTypeOf(node.value);
    default:
      return undefined;
  }
}

export type Scalar = string | number | boolean | null;

export function isScalar(value: unknown): value is Scalar {
  return typeof value !== 'object' || value === null;
}

/** The required members of an object that are literals, with their literals: they tell the variants of a union apart. */
export function tagsOf(node: SchemaNode): ReadonlyMap<string, Scalar> {
  const tags = new Map<string, Scalar>();
  if (node.kind !== 'object') return tags;
  for (const { name, node: member, isRequired } of node.members) {
    if (isRequired && member.kind === 'literal' && isScalar(member.value))
      tags.set(name, member.value);
  }
  return tags;
}

export function differByTag(
  one: ReadonlyMap<string, Scalar>,
  other: ReadonlyMap<string, Scalar>,
): boolean {
  return [...one].some(([name, tag]) => other.has(name) && other.get(name) !== tag);
}

/**
 * Whether a part of an intersection declares a member of a value: an object by its name or a pattern, a union by the variants
 * that the value matches.
 */
export function declares(
  node: SchemaNode,
  name: string,
  matches: (variant: SchemaNode) => boolean,
): boolean {
  switch (node.kind) {
    case 'intersection':
      return node.parts.some((part) => declares(part, name, matches));
    case 'union':
      return node.variants.some((variant) => matches(variant) && declares(variant, name, matches));
    case 'ref':
      return declares(node.target, name, matches);
    case 'object':
      return (
        node.members.some((member) => member.name === name) ||
        node.patterns.some(({ names }) => names.test(name)) ||
        takesMore(node.rest)
      );
    default:
      return false;
  }
}
