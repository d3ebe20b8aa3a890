import { UniqueNames } from '../../core/base/unique-names.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { hasDefault, resolved, type SchemaNode, someWithin } from '../../core/schema/model.ts';
import { type JsonSchema, writeJson } from '../../core/schema/write-json.ts';

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

/** undefined: any value. */
function toolSchema(schema: SchemaNode | undefined): JsonSchema {
  return schema === undefined ? {} : new ToolSchemaWriter().write(schema);
}

/**
 * Writes a schema as clients of MCP read it: JSON Schema 2020-12 in one piece, without ids. Older clients read it as draft 7,
 * which knows no `prefixItems`, so nothing is said that only one of the two would understand rightly.
 */
class ToolSchemaWriter {
  readonly #names = new UniqueNames();
  readonly #definitions = new Map<SchemaNode, { readonly name: string; schema: JsonSchema }>();

  write(root: SchemaNode): JsonSchema {
    const { 'x-mcp-header': _header, ...notes } = root.notes;
    // The root is written out: a tool's params must say at once that they are an object.
    const json: JsonSchema = { ...this.#body(resolved(root)), ...notes };
    if (this.#definitions.size === 0) return json;
    const definitions = [...this.#definitions.values()].map(({ name, schema }) => [name, schema]);
    return { ...json, $defs: Object.fromEntries(definitions) as Record<string, JsonSchema> };
  }

  #part(node: SchemaNode): JsonSchema {
    const type = resolved(node);
    if (type.name === undefined) return this.#body(node);
    const reference = { $ref: `#/$defs/${this.#nameOf(type, type.name)}` };
    return node !== type && hasDefault(node)
      ? { ...reference, default: node.notes.default }
      : reference;
  }

  /** A name that a JSON Pointer within a URI can hold as it is. */
  #nameOf(type: SchemaNode, wanted: string): string {
    let definition = this.#definitions.get(type);
    if (definition === undefined) {
      definition = { name: this.#names.take(wanted.replace(/[^\w.-]/g, '_')), schema: {} };
      this.#definitions.set(type, definition);
      definition.schema = this.#body(type);
    }
    return definition.name;
  }

  #body(node: SchemaNode): JsonSchema {
    const json = writeJson(node, (part) => (part === node ? undefined : this.#part(part)));
    delete json.$id;
    // Of a client's own protocol: it would have to send the value of the member in a header, too.
    delete json['x-mcp-header'];
    if (isTuple(node)) {
      // Without `items: false`: draft 7 knows no `prefixItems`, and would then refuse every item.
      json.prefixItems = json.items;
      delete json.items;
      delete json.additionalItems;
    }
    // Some client allows more of a tuple than the schema does. The `not` of it would allow less, so it is left out.
    if (node.kind === 'not' && someWithin(node, isTuple)) delete json.not;
    return json;
  }
}

function isTuple(node: SchemaNode): boolean {
  return node.kind === 'array' && node.prefix.length > 0;
}
