import type { TSchema } from '@sinclair/typebox';
import { bytesKind } from '../schema/bytes.ts';
import { forEachChild, kindOf, namesIn, targetOf } from '../schema/schema-tree.ts';
import type { Procedure } from '../types.ts';

/** What a client in this process is told of a procedure, as `tandem codegen` tells others. */
export interface ProcedureHint {
  readonly readOnly?: boolean;
  readonly idempotent?: boolean;
  readonly sendsBytes?: boolean;
  /** JSON Pointers into the result, `*` for each item or member. */
  readonly bytes?: readonly string[];
  /** The same within each value of a stream. */
  readonly yields?: readonly string[];
}

/** The hints of a router's procedures (`tableOf`), by name. */
export function hintsOf(table: ReadonlyMap<string, Procedure>): Record<string, ProcedureHint> {
  const hints = Object.create(null) as Record<string, ProcedureHint>;
  for (const [name, { effects, params, returns, stream }] of table) {
    hints[name] = {
      ...effects,
      sendsBytes: placesOf(params).length > 0,
      bytes: placesOf(returns),
      yields: placesOf(stream?.yields),
    };
  }
  return hints;
}

/** Where a value of the schema has bytes; within a type that holds itself, on its first level. */
function placesOf(root: TSchema | undefined): string[] {
  if (root === undefined) return [];
  const names = namesIn(root);
  const places = new Set<string>();
  const visit = (schema: TSchema, path: string, open: readonly string[]): void => {
    if (kindOf(schema) === bytesKind) places.add(path);
    const { $ref } = schema;
    const target = targetOf(schema, names);
    if (target !== undefined && $ref !== undefined && !open.includes($ref))
      visit(target, path, [...open, $ref]);
    // A module's definitions are reached by the references to them.
    if (kindOf(schema) === 'Import') return;
    const inside = typeof schema.$id === 'string' ? [...open, schema.$id] : open;
    forEachChild(schema, (child, segment) => visit(child, path + segment, inside));
  };
  visit(root, '', []);
  return [...places];
}
