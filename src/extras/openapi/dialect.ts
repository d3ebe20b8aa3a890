import { cached } from '../../core/base/cached.ts';
import { capitalized } from '../../core/base/text.ts';
import type { Steps } from '../../core/base/timer.ts';
import { UniqueNames } from '../../core/base/unique-names.ts';
import {
  type Component,
  type Components,
  referenceTo,
} from '../../core/procedures/document/components.ts';
import { readJsonSchema } from '../../core/schema/json-schema.ts';
import {
  type ArrayNode,
  anything,
  type CustomNode,
  forEachPart,
  type LiteralNode,
  type ObjectNode,
  resolved,
  type SchemaNode,
  tagsOf,
  takesMore,
  type UnionNode,
} from '../../core/schema/model.ts';
import { type Dialect, type JsonSchema, writeJson } from '../../core/schema/write-json.ts';

/**
 * Writes the schemas of a document so that generators for several languages read them. What can't be spelled for all of
 * them is told wider than it is: the service checks it all the same. The reason stands beside each spelling.
 */
export class OpenApiSchemas {
  readonly #shared: Components;
  /** The components of the document, with their names in it. To write one may add others. */
  readonly #names = new Map<Component, string>();
  readonly #unique: UniqueNames;
  /** The components that only this document has, by their content. */
  readonly #added = new Map<string, Component>();
  /** References by which an array holds itself. */
  readonly #circles = new Set<SchemaNode>();
  /** The node of the component that is being written: it is no use of that. */
  #type: SchemaNode | undefined;

  /** @param taken names that the document needs itself */
  constructor(shared: Components, taken: readonly string[]) {
    this.#shared = shared;
    const keyOf = (name: string): string => name.toLowerCase();
    this.#unique = new UniqueNames(taken, { separator: '', keyOf });
    for (const component of shared.all()) this.#names.set(component, this.#nameFor(component.name));
  }

  write(node: SchemaNode): JsonSchema {
    return writeJson(node, this.#dialect);
  }

  /** The components, behind them those that were added. Call it last. */
  *components(): Steps<Record<string, JsonSchema>> {
    const entries: [string, JsonSchema][] = [];
    // To write one may add others, which the loop then reaches.
    for (const [component, name] of this.#names) {
      for (const held of this.#heldBy(component.node)) {
        if (held.isItem && this.#leadsTo(held.component, component, new Set()))
          this.#circles.add(held.use);
      }
      this.#type = component.node;
      const { $id: _name, default: _ofUse, ...body } = this.write(this.#type);
      entries.push([name, body]);
      yield;
    }
    return Object.fromEntries(entries);
  }

  #nameFor(wanted: string): string {
    return this.#unique.take(plainName(wanted));
  }

  /** The component of an object that has no name yet, one for each content. */
  #add(wanted: string, node: SchemaNode): Component {
    const content = JSON.stringify(writeJson(node));
    return cached(this.#added, content, () => {
      const name = this.#nameFor(wanted);
      const component = { name, node };
      this.#names.set(component, name);
      return component;
    });
  }

  #pathOf(component: Component): string {
    return `#/components/schemas/${this.#names.get(component)}`;
  }

  readonly #dialect: Dialect = (node, usual) => {
    const component = node === this.#type ? undefined : this.#shared.of(node);
    if (component !== undefined) {
      // TypeScript's types of an array that holds itself, without an object between, do not compile (TS2502).
      if (this.#circles.has(node)) return {};
      return referenceTo(node, component, this.#pathOf(component));
    }
    if (isBytes(node)) {
      // `maxBytes` is no keyword of JSON Schema, and swagger-typescript-api takes `contentMediaType` for a file.
      const { maxBytes: _bytes, contentMediaType: _type, ...json } = usual(node);
      return json;
    }
    switch (node.kind) {
      case 'literal':
        return spellLiteral(node);
      case 'union':
        return this.#union(node);
      case 'not':
        // What it excludes is told wider than it is, so that it would exclude too much.
        return isNever(node) ? undefined : { ...node.notes };
      case 'array':
        return spellArray(node, usual(node));
      case 'object':
        return usual(spelledObject(node));
      case 'custom':
        return this.write(readNotes(node));
      default:
        return undefined;
    }
  };

  #union({ variants, notes }: UnionNode): JsonSchema {
    const values: unknown[] = [];
    const others: SchemaNode[] = [];
    let isNullable = false;
    for (const variant of this.#flat(variants)) {
      const type = resolved(variant);
      if (type.kind === 'literal') values.push(type.value);
      else if (type.kind === 'null') isNullable = true;
      else others.push(variant);
    }
    const tagged = this.#tagged(others);
    const pieces = [
      ...literalPieces(values, isNullable),
      ...(tagged === undefined ? others.map((one) => this.write(one)) : [tagged]),
      ...(isNullable ? [{ type: 'null' }] : []),
    ];
    const [only, ...more] = pieces;
    if (only === undefined) return { ...notes, not: {} };
    if (more.length > 0) return { ...notes, anyOf: pieces };
    if (Object.keys(notes).length === 0) return only;
    return '$ref' in only ? { ...notes, allOf: [only] } : { ...only, ...notes };
  }

  /** The variants of a union, and those of unions within it, without those that no value has. */
  #flat(variants: readonly SchemaNode[]): SchemaNode[] {
    return variants.flatMap((one) => {
      if (isNever(one)) return [];
      const isPlain = Object.keys(one.notes).length === 0 && this.#shared.of(one) === undefined;
      return one.kind === 'union' && isPlain ? this.#flat(one.variants) : [one];
    });
  }

  /**
   * Objects that a text of theirs tells apart, as components, since a mapping needs names. ogen (Go) reads no union of
   * objects without one.
   */
  #tagged(variants: readonly SchemaNode[]): JsonSchema | undefined {
    const tags = variants.map((one) => tagsOf(resolved(one)));
    const [first, ...more] = tags;
    if (first === undefined || more.length === 0) return undefined;
    for (const propertyName of first.keys()) {
      const values = tags
        .map((one) => one.get(propertyName))
        .filter((tag) => typeof tag === 'string');
      if (new Set(values).size < variants.length) continue;
      const oneOf = variants.map((variant, index) => {
        const shared = this.#shared.of(variant);
        const component = shared ?? this.#add(capitalized(values[index] ?? ''), variant);
        return { $ref: this.#pathOf(component) };
      });
      const mapping = Object.fromEntries(values.map((value, i) => [value, oneOf[i]?.$ref]));
      return { oneOf, discriminator: { propertyName, mapping } };
    }
    return undefined;
  }

  #leadsTo(from: Component, to: Component, seen: Set<Component>): boolean {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return this.#heldBy(from.node).some(({ component }) => this.#leadsTo(component, to, seen));
  }

  /** The components that a value is or holds through arrays alone. */
  #heldBy(node: SchemaNode, isItem = false): Held[] {
    const held: Held[] = [];
    if (node.kind === 'object') return held;
    forEachPart(node, (part) => {
      const component = this.#shared.of(part);
      const isWithin = isItem || node.kind === 'array';
      if (component === undefined) held.push(...this.#heldBy(part, isWithin));
      else held.push({ use: part, component, isItem: isWithin });
    });
    return held;
  }
}

interface Held {
  readonly use: SchemaNode;
  readonly component: Component;
  readonly isItem: boolean;
}

/** Letters and digits: generators take all others out, and two names may then be the same. */
function plainName(name: string): string {
  const [first = '', ...rest] = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const joined = first + rest.map(capitalized).join('');
  return /^[A-Za-z]/.test(joined) ? joined : `Schema${joined}`;
}

/** Whether JSON has no value that matches. */
export function isNever(node: SchemaNode): boolean {
  if (node.kind === 'not') return node.node.kind === 'unknown';
  return node.kind === 'never' || node.kind === 'undefined';
}

/** Whether a node is that of bytes. At a gateway it is that of the text by which members describe them. */
export function isBytes(node: SchemaNode): boolean {
  if (node.kind === 'bytes') return true;
  return (
    node.kind === 'string' && node.format === 'byte' && node.notes.contentEncoding === 'base64'
  );
}

/** What the notes of a program's own kind say of its values, as members of a cluster tell it. */
export function readNotes({ notes }: CustomNode): SchemaNode {
  return readJsonSchema(notes, 'a kind of its own', { strictness: 'document' });
}

function spellLiteral({ value, notes }: LiteralNode): JsonSchema {
  // openapi-generator (Java) makes an enum of it that does not compile, and ogen (Go) code that does not, without the type.
  if (typeof value === 'boolean') return { ...notes, type: 'boolean', allOf: [{ const: value }] };
  return { ...literalPieces([value], false)[0], ...notes };
}

/**
 * One `enum` for all literals of a type: openapi-python-client makes a class of each, and its code refuses every other value of a
 * union that has a `const`. Null stands beside it: hey-api loses the null of an `enum`.
 */
function literalPieces(values: readonly unknown[], isNullable: boolean): JsonSchema[] {
  const valuesOf = (type: string) => [...new Set(values.filter((value) => typeof value === type))];
  const pieces: JsonSchema[] = [];
  const texts = valuesOf('string');
  if (texts.length > 0) pieces.push({ type: 'string', enum: texts });
  const numbers = valuesOf('number');
  // Go and Java have another type for fractions, and openapi-python-client leaves out an operation with an enum of them.
  if (numbers.every(Number.isInteger)) {
    if (numbers.length > 0) pieces.push({ type: 'integer', enum: numbers });
  } else pieces.push({ type: 'number' });
  const [first, ...more] = valuesOf('boolean');
  if (first !== undefined) {
    // openapi-generator (Java) makes an enum of `true` or null, too.
    const isAny = more.length > 0 || (isNullable && pieces.length === 0);
    pieces.push(isAny ? { type: 'boolean' } : { type: 'boolean', const: first });
  }
  return [...pieces, ...valuesOf('object').map((value) => ({ const: value }))];
}

function spellArray({ prefix, rest }: ArrayNode, json: JsonSchema): JsonSchema {
  const { items, additionalItems: _rest, ...limits } = json;
  // openapi-python-client refuses a document with an array that has no `items`.
  if (prefix.length === 0) return { ...limits, items: rest.kind === 'never' ? {} : items };
  // A schema of further items gives code of orval that does not compile (TS2574).
  return { ...limits, prefixItems: items };
}

/** openapi-python-client knows no `patternProperties`. */
function spelledObject(node: ObjectNode): ObjectNode {
  const { patterns, rest } = node;
  // Validators take a member called $ref for a reference.
  const members = node.members.filter(({ name }) => name !== '$ref');
  const [only, ...more] = patterns;
  if (only !== undefined && more.length + members.length === 0 && !takesMore(rest)) {
    const { propertyNames = { kind: 'string', pattern: only.pattern, notes: {} } } = node;
    return { ...node, members, patterns: [], rest: only.node, propertyNames };
  }
  // No value has the type that openapi-typescript makes of members and a typed rest beside them.
  const isOpen = patterns.length > 0 || (members.length > 0 && takesMore(rest));
  return { ...node, members, patterns: [], rest: isOpen ? anything : rest };
}
