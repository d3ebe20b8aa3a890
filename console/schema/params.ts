import type { ProcedureSchema } from '../state/registry.ts';
import type { JsonSchema } from './resolve.ts';

/** The schema of all params of a procedure, as one object. */
export function paramsSchema({ parameters }: ProcedureSchema): JsonSchema {
  const definitions: Record<string, unknown> = {};
  for (const { schema_ } of parameters) {
    Object.assign(definitions, schema_.definitions, schema_.$defs);
  }
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema_ }) => [name, schema_])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    $defs: definitions,
  };
}

/** `(a: number, b?: number)`, and what comes of it. */
export function signatureOf(procedure: ProcedureSchema): string {
  const params = procedure.parameters.map(
    ({ name, type, required }) => `${name}${required ? '' : '?'}: ${type}`,
  );
  const yields = procedure.yield_type === undefined ? '' : ` yields ${procedure.yield_type}`;
  return `(${params.join(', ')})${yields} → ${procedure.return_type}`;
}
