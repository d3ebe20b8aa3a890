import type { TSchema } from '@sinclair/typebox';
import { mapChildren } from './schema-tree.ts';

/** A JSON Schema without TypeBox's symbols. */
export type JsonSchema = Record<string, unknown>;

/** Ids that Type.Recursive made up, and ids as `plainSchema` numbers them. */
export const madeUpId = /^T\d+$/;

/**
 * A schema as plain JSON. Type.Recursive makes ids up by counting all recursive types of the thread. They are numbered
 * anew here, so that replicas that have made other types before give the same document.
 */
export function plainSchema(schema: TSchema): JsonSchema {
  const ids = new Map<string, string>();
  const renumber = (id: unknown): unknown => {
    if (typeof id !== 'string' || !madeUpId.test(id)) return id;
    let own = ids.get(id);
    if (own === undefined) {
      own = `T${ids.size}`;
      ids.set(id, own);
    }
    return own;
  };
  const convert = (node: TSchema): TSchema => {
    const { $id, $ref } = node;
    const named: TSchema = { ...node };
    if ($id !== undefined) named.$id = renumber($id) as string;
    if ($ref !== undefined) named.$ref = renumber($ref);
    // JSON Schema has neither type: a result that is void arrives as null, and undefined never arrives.
    if (named.type === 'void') named.type = 'null';
    if (named.type === 'undefined') {
      delete named.type;
      named.not = {};
    }
    return mapChildren(named, convert);
  };
  return JSON.parse(JSON.stringify(convert(schema))) as JsonSchema;
}
