import type { TSchema } from '@sinclair/typebox';
import { isObject } from '../jsonrpc/envelope.ts';
import { type JsonSchema, plainSchema } from '../router/schema/plain-schema.ts';
import { escapePointer, isSchema, mapChildren, refId } from '../router/schema/schema-tree.ts';

/** What a client gives, or what it is given. */
export type Side = 'input' | 'output';

/**
 * A schema as clients of MCP read it: JSON Schema 2020-12 in one piece, without ids. Older clients read it as draft 7, which
 * knows no `prefixItems`, so nothing is said that only one of the two would understand rightly. Undefined: any value.
 */
export function toolSchema(schema: TSchema | undefined, side: Side): JsonSchema {
  return schema === undefined ? {} : new Converter(plainSchema(schema), side).convert();
}

class Converter {
  readonly #root: JsonSchema;
  readonly #side: Side;
  /** Named schemas by id. Of several with one id the first counts. */
  readonly #named = new Map<string, JsonSchema>();
  /** The definitions that are referred to, by id. */
  readonly #definitions = new Map<string, { readonly name: string; schema: JsonSchema }>();

  constructor(root: JsonSchema, side: Side) {
    this.#root = root;
    this.#side = side;
    this.#gather(root);
  }

  convert(): JsonSchema {
    const { $ref } = this.#root;
    const target = typeof $ref === 'string' ? this.#named.get(refId($ref)) : undefined;
    // The root is written out: a tool's params must say at once that they are an object.
    const root = this.#body(target ?? this.#root);
    if (target !== undefined) this.#copyAnnotations(root);
    if (this.#definitions.size === 0) return root;
    const definitions = [...this.#definitions.values()].map(({ name, schema }) => [name, schema]);
    return { ...root, $defs: Object.fromEntries(definitions) as Record<string, JsonSchema> };
  }

  #copyAnnotations(root: JsonSchema): void {
    for (const key of ['title', 'description', 'default', 'examples']) {
      if (key in this.#root) root[key] = this.#root[key];
    }
  }

  #gather(schema: JsonSchema): void {
    const { $id, $defs, $ref } = schema;
    if (typeof $id === 'string' && typeof $ref !== 'string' && !this.#named.has($id)) {
      this.#named.set($id, schema);
    }
    if (isObject($defs)) {
      for (const [name, one] of Object.entries($defs)) {
        if (isObject(one) && !this.#named.has(name)) this.#named.set(name, one);
      }
    }
    forEachPlain(schema, (child) => this.#gather(child));
  }

  #convert(schema: JsonSchema): JsonSchema {
    const { $id, $ref } = schema;
    if (typeof $ref === 'string') return this.#reference($ref, schema);
    // A part with a name is written once, where others can refer to it.
    if (typeof $id === 'string') return this.#reference($id, schema);
    return this.#body(schema);
  }

  #reference($ref: string, use: JsonSchema): JsonSchema {
    const id = refId($ref);
    const target = this.#named.get(id);
    if (target === undefined) return this.#body({ ...use, $ref: undefined });
    let definition = this.#definitions.get(id);
    if (definition === undefined) {
      definition = { name: this.#nameFor(id), schema: {} };
      this.#definitions.set(id, definition);
      definition.schema = this.#body(target);
    }
    const reference = { $ref: `#/$defs/${escapePointer(definition.name)}` };
    return 'default' in use && use !== target ? { ...reference, default: use.default } : reference;
  }

  /** A name that a JSON Pointer within a URI can hold as it is. */
  #nameFor(id: string): string {
    const plain = id.replace(/[^\w.-]/g, '_');
    const taken = new Set([...this.#definitions.values()].map(({ name }) => name));
    let name = plain;
    for (let i = 2; taken.has(name); i++) name = `${plain}_${i}`;
    return name;
  }

  #body(schema: JsonSchema): JsonSchema {
    const { $id: _id, $defs: _defs, $schema: _dialect, additionalItems: _more, ...others } = schema;
    const { $ref, items, ...rest } = others;
    if (typeof $ref === 'string') return this.#reference($ref, schema);
    // Of a client's own protocol: it would have to send the value of the member in a header, too.
    delete rest['x-mcp-header'];
    // What is told may allow more than the schema. The `not` of such a part would allow less, so it is left out.
    if (isObject(rest.not) && this.#isWidened(rest.not)) delete rest.not;
    if (typeof rest.pattern === 'string' && !isUnicodePattern(rest.pattern)) delete rest.pattern;
    if (this.#side === 'output' && typeof rest.minLength === 'number') {
      // Clients count characters, and this package their UTF-16 units: a text of n units has half as many at least.
      rest.minLength = Math.ceil(rest.minLength / 2);
    }
    const isTuple = Array.isArray(items);
    const body: JsonSchema = items === undefined || isTuple ? rest : { ...rest, items };
    const converted = mapPlain(body, (child) => this.#convert(child));
    if (isTuple && items.length > 0) {
      // Without `items: false`: draft 7 knows no `prefixItems`, and would then refuse every item.
      converted.prefixItems = items.map((item) => (isObject(item) ? this.#convert(item) : item));
    }
    return converted;
  }

  /** Whether some client allows more by what `#body` tells of a schema, or of any part of it, than the schema does. */
  #isWidened(schema: JsonSchema, seen = new Set<JsonSchema>()): boolean {
    if (seen.has(schema)) return false;
    seen.add(schema);
    const { $ref, items, pattern, minLength } = schema;
    if (Array.isArray(items) && items.length > 0) return true;
    if (typeof pattern === 'string' && !isUnicodePattern(pattern)) return true;
    if (this.#side === 'output' && typeof minLength === 'number') return true;
    const target = typeof $ref === 'string' ? this.#named.get(refId($ref)) : undefined;
    let isWidened = target !== undefined && this.#isWidened(target, seen);
    forEachPlain(schema, (child) => {
      isWidened ||= this.#isWidened(child, seen);
    });
    return isWidened;
  }
}

/** Whether validators, which read patterns with the flag `u`, can read it. */
function isUnicodePattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

/** `mapChildren` for plain JSON, where a child may be true or false. */
function mapPlain(schema: JsonSchema, visit: (child: JsonSchema) => JsonSchema): JsonSchema {
  return mapChildren(schema as unknown as TSchema, (child) =>
    isSchema(child) ? (visit(child) as TSchema) : child,
  );
}

function forEachPlain(schema: JsonSchema, visit: (child: JsonSchema) => void): void {
  mapPlain(schema, (child) => {
    visit(child);
    return child;
  });
}
