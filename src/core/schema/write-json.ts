import { base64Length } from './bytes.ts';
import { keywords } from './keywords.ts';
import { type ArrayNode, isRecord, type ObjectNode, resolved, type SchemaNode } from './model.ts';

/** A JSON Schema as a document holds it. */
export type JsonSchema = Record<string, unknown>;

/** The names under which nodes hold their limits are those of JSON Schema. */
const limits = keywords.filter(
  ({ type, holdsSchemas }) => type !== undefined && holdsSchemas === undefined,
);

/**
 * What a kind of document writes in its own way, where not all of its readers know JSON Schema 2020-12.
 *
 * @param usual writes the node, or another one instead of it, as everywhere; its parts in that way
 * @returns undefined: the node is written as everywhere
 */
export type Dialect = (
  node: SchemaNode,
  usual: (node: SchemaNode) => JsonSchema,
) => JsonSchema | undefined;

/**
 * A schema as JSON Schema 2020-12. A type with a name stands where it is met first, with its name as `$id`; references to it
 * hold that name. Types that stand nowhere else are in `$defs` of the whole.
 */
export function writeJson(root: SchemaNode, dialect?: Dialect): JsonSchema {
  const writer = new Writer(dialect);
  const json = writer.write(root);
  const definitions = writer.definitions();
  return definitions === undefined ? json : { ...json, $defs: definitions };
}

class Writer {
  readonly #dialect: Dialect | undefined;
  readonly #written = new Set<SchemaNode>();
  readonly #referred = new Set<SchemaNode>();

  constructor(dialect: Dialect | undefined) {
    this.#dialect = dialect;
  }

  write(node: SchemaNode): JsonSchema {
    this.#written.add(node);
    return this.#dialect?.(node, (one) => this.#usual(one)) ?? this.#usual(node);
  }

  #usual(node: SchemaNode): JsonSchema {
    const json: JsonSchema = { ...this.#body(node), ...node.notes };
    const held = node as unknown as Readonly<Record<string, unknown>>;
    for (const { name } of limits) {
      const limit = held[name];
      // Those that hold schemas are written with the node's body.
      if (limit !== undefined && !(name in json)) json[name] = limit;
    }
    if (node.kind === 'bytes') {
      if (node.maxBytes !== undefined) json.maxLength = base64Length(node.maxBytes);
      json.format = 'byte';
    }
    if (node.name !== undefined) json.$id = node.name;
    return json;
  }

  definitions(): Record<string, JsonSchema> | undefined {
    const definitions: Record<string, JsonSchema> = {};
    // What a definition refers to comes to its end.
    for (const node of this.#referred) {
      if (!this.#written.has(node)) definitions[node.name ?? ''] = this.write(node);
    }
    return Object.keys(definitions).length === 0 ? undefined : definitions;
  }

  #body(node: SchemaNode): JsonSchema {
    const write = (part: SchemaNode): JsonSchema => this.write(part);
    switch (node.kind) {
      case 'unknown':
        return {};
      case 'never':
      // JSON has no undefined: such a member is never there.
      case 'undefined':
        return { not: {} };
      // A result that is void arrives as null.
      case 'void':
        return { type: 'null' };
      case 'null':
      case 'boolean':
      case 'number':
      case 'integer':
      case 'string':
        return { type: node.kind };
      case 'bytes': {
        const { maxBytes } = node;
        return {
          type: 'string',
          contentEncoding: 'base64',
          ...(maxBytes === undefined ? {} : { maxBytes }),
        };
      }
      case 'literal':
        return { const: node.value, ...typeOfLiteral(node.value) };
      case 'array':
        return this.#array(node);
      case 'object':
        return this.#object(node);
      case 'union':
        return { [node.isExclusive === true ? 'oneOf' : 'anyOf']: node.variants.map(write) };
      case 'intersection':
        return {
          // Readers that know no allOf see an object, at least.
          ...(node.parts.every((part) => resolved(part).kind === 'object')
            ? { type: 'object' }
            : {}),
          allOf: node.parts.map(write),
          ...(node.unevaluated === undefined
            ? {}
            : { unevaluatedProperties: this.#rest(node.unevaluated) }),
        };
      case 'not':
        return { not: this.write(node.node) };
      case 'ref':
        this.#referred.add(node.target);
        return { $ref: node.to };
      case 'custom':
        return {};
    }
  }

  #array({ prefix, rest, contains, maxItems }: ArrayNode): JsonSchema {
    const json: JsonSchema = { type: 'array' };
    if (prefix.length > 0) {
      json.items = prefix.map((item) => this.write(item));
      if (rest.kind !== 'unknown') json.additionalItems = this.#rest(rest);
    } else if (rest.kind !== 'never' || maxItems !== 0) json.items = this.write(rest);
    if (contains !== undefined) json.contains = this.write(contains);
    return json;
  }

  #object(node: ObjectNode): JsonSchema {
    const { members, patterns, rest, propertyNames } = node;
    const json: JsonSchema = { type: 'object' };
    const required = members.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    // `fromEntries` keeps a member called __proto__ a member.
    if (!isRecord(node))
      json.properties = Object.fromEntries(
        members.map(({ name, node: member }) => [name, this.write(member)]),
      );
    if (required.length > 0) json.required = required;
    if (patterns.length > 0)
      json.patternProperties = Object.fromEntries(
        patterns.map(({ pattern, node: member }) => [pattern, this.write(member)]),
      );
    if (rest !== undefined) json.additionalProperties = this.#rest(rest);
    if (propertyNames !== undefined) json.propertyNames = this.write(propertyNames);
    return json;
  }

  #rest(node: SchemaNode): JsonSchema | boolean {
    if (node.kind === 'never') return false;
    const json = this.write(node);
    return Object.keys(json).length === 0 ? true : json;
  }
}

function typeOfLiteral(value: unknown): JsonSchema {
  return typeof value === 'object' ? {} : { type: typeof value };
}
