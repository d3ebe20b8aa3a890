import type { Procedure } from '../../core/procedures/types.ts';
import { isObject } from '../../core/protocol/body.ts';
import { resolved, type SchemaNode } from '../../core/schema/model.ts';
import { escapePointer } from '../../core/schema/pointer.ts';
import { forEachPlain, mapPlain, plainNamesIn, refId } from '../../core/schema/schema-tree.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';
import { writeJson } from '../../core/schema/write-json.ts';

/** A procedure as a tool. */
export interface Tool {
  /** What a model calls it. */
  readonly name: string;
  readonly procedure: Procedure;
  /** Whether a result is sent as a value, too: its schema is told, and holds. */
  readonly isStructured: boolean;
  /** Whether its result is an object by its schema. A legacy client takes no other structured one. */
  readonly isObject: boolean;
}

/** Where a client reads structured results: those of legacy versions must be objects. */
export type Era = 'modern' | 'legacy';

export function createTool(name: string, procedure: Procedure): Tool {
  const { stream, returns, tool } = procedure;
  const isCollected = stream?.collect === true;
  const result = isCollected ? stream.yields : returns;
  return {
    name,
    procedure,
    isStructured: tool !== 'content' && result !== undefined,
    isObject: !isCollected && result !== undefined && resolved(result).kind === 'object',
  };
}

/** The JSON text of a tool in a list. Takes up to some milliseconds: a schema is read and written out. */
export function toolText(tool: Tool, era: Era): string {
  const { name, procedure, isStructured } = tool;
  const { doc, effects } = procedure;
  // JSON.stringify leaves out what is undefined.
  return JSON.stringify({
    name,
    title: procedure.name,
    description: doc ?? undefined,
    inputSchema: inputSchema(procedure),
    outputSchema: isStructured ? outputSchema(tool, era) : undefined,
    annotations: effects && {
      readOnlyHint: effects.readOnly,
      destructiveHint: effects.destructive,
      idempotentHint: effects.idempotent,
      openWorldHint: effects.openWorld,
    },
  });
}

function inputSchema({ params }: Procedure): JsonSchema {
  // A procedure that declares nothing takes any object.
  if (params === undefined) return { type: 'object' };
  const schema: JsonSchema = { ...toolSchema(params), type: 'object' };
  // Unknown members are refused unless the schema says otherwise.
  return { ...schema, additionalProperties: schema.additionalProperties ?? false };
}

function outputSchema({ procedure, isObject }: Tool, era: Era): JsonSchema {
  const { stream, returns } = procedure;
  const schema = stream?.collect === true ? collected(stream.yields) : toolSchema(returns);
  if (era === 'modern' || isObject) return schema;
  const { $defs, ...result } = schema;
  return { type: 'object', properties: { result }, required: ['result'], $defs };
}

/** Of a stream whose values are gathered into an array. */
function collected(yields: Procedure['returns']): JsonSchema {
  const { $defs, ...items } = toolSchema(yields);
  return { type: 'array', items, $defs };
}

/**
 * A schema as clients of MCP read it: JSON Schema 2020-12 in one piece, without ids. Older clients read it as draft 7, which
 * knows no `prefixItems`, so nothing is said that only one of the two would understand rightly. Undefined: any value.
 */
function toolSchema(schema: SchemaNode | undefined): JsonSchema {
  return schema === undefined ? {} : new Converter(writeJson(schema)).convert();
}

class Converter {
  readonly #root: JsonSchema;
  readonly #named: ReadonlyMap<string, JsonSchema>;
  /** The definitions that are referred to, by id. */
  readonly #definitions = new Map<string, { readonly name: string; schema: JsonSchema }>();

  constructor(root: JsonSchema) {
    this.#root = root;
    this.#named = plainNamesIn(root);
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
    const { $ref, items } = schema;
    if (Array.isArray(items) && items.length > 0) return true;
    const target = typeof $ref === 'string' ? this.#named.get(refId($ref)) : undefined;
    let isWidened = target !== undefined && this.#isWidened(target, seen);
    forEachPlain(schema, (child) => {
      isWidened ||= this.#isWidened(child, seen);
    });
    return isWidened;
  }
}
