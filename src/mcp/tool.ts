import type { Effects } from '../router/effects.ts';
import type { JsonSchema } from '../router/schema/plain-schema.ts';
import type { Procedure } from '../router/types.ts';
import { toolSchema } from './tool-schema.ts';

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
    isObject: !isCollected && result?.type === 'object',
  };
}

/** The JSON text of a tool in a list. Takes up to some milliseconds: a schema is read and written out. */
export function toolText(tool: Tool, era: Era): string {
  const { name, procedure, isStructured } = tool;
  const { doc, effects } = procedure;
  return JSON.stringify({
    name,
    title: procedure.name,
    ...(doc === null ? {} : { description: doc }),
    inputSchema: inputSchema(procedure),
    ...(isStructured ? { outputSchema: outputSchema(tool, era) } : {}),
    ...(effects === undefined ? {} : { annotations: annotations(effects) }),
  });
}

function inputSchema({ params }: Procedure): JsonSchema {
  // A procedure that declares nothing takes any object.
  if (params === undefined) return { type: 'object' };
  const schema: JsonSchema = { ...toolSchema(params, 'input'), type: 'object' };
  // Unknown members are refused unless the schema says otherwise.
  return { ...schema, additionalProperties: schema.additionalProperties ?? false };
}

function outputSchema({ procedure, isObject }: Tool, era: Era): JsonSchema {
  const { stream, returns } = procedure;
  const schema =
    stream?.collect === true ? collected(stream.yields) : toolSchema(returns, 'output');
  if (era === 'modern' || isObject) return schema;
  const { $defs, ...result } = schema;
  return {
    type: 'object',
    properties: { result },
    required: ['result'],
    ...($defs === undefined ? {} : { $defs }),
  };
}

/** Of a stream whose values are gathered into an array. */
function collected(yields: Procedure['returns']): JsonSchema {
  const { $defs, ...items } = toolSchema(yields, 'output');
  return { type: 'array', items, ...($defs === undefined ? {} : { $defs }) };
}

function annotations({ readOnly, idempotent, destructive, openWorld }: Effects): object {
  // JSON.stringify leaves out what is not declared.
  return {
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: openWorld,
  };
}
