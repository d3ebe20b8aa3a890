import type { TObject, TSchema } from '@sinclair/typebox';
import type { ErrorDeclarations } from '../declared-errors.ts';
import type { Effects } from '../effects.ts';
import { assertName } from '../names.ts';
import { type JsonSchema, plainSchema } from '../schema/plain-schema.ts';
import type { Procedure, StreamRules } from '../types.ts';

/**
 * A procedure as a process describes it that runs it, for one that does not: all that documents show of it, and what sending calls away
 * needs to know. JSON.
 */
export interface ProcedureDescription {
  readonly name: string;
  readonly params?: JsonSchema;
  readonly hasOrder: boolean;
  readonly returns?: JsonSchema;
  readonly errors?: Readonly<Record<string, { code: number; message: string; data?: JsonSchema }>>;
  readonly doc?: string;
  readonly effects?: Effects;
  readonly tool?: false | 'content';
  readonly isAsync: boolean;
  readonly group?: string;
  readonly timeoutMs?: number;
  readonly stream?: Omit<StreamRules, 'yields' | 'value'> & { readonly yields?: JsonSchema };
}

export function describeProcedure(procedure: Procedure): ProcedureDescription {
  const { name, params, hasOrder, returns, errors, doc, effects, tool } = procedure;
  const { isAsync, group, timeoutMs } = procedure;
  return {
    name,
    hasOrder,
    isAsync,
    ...(params === undefined ? {} : { params: plainSchema(params) }),
    ...(returns === undefined ? {} : { returns: plainSchema(returns) }),
    ...(errors === undefined ? {} : { errors: describeErrors(errors.declared) }),
    ...(doc === null ? {} : { doc }),
    ...(effects === undefined ? {} : { effects }),
    ...(tool === undefined ? {} : { tool }),
    ...(group === undefined ? {} : { group }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...describeStream(procedure),
  };
}

/**
 * A procedure that another process runs. It holds no validators, and can't be called here: its calls are sent to who described it.
 *
 * @throws Error for what describes no procedure
 */
export function describedProcedure(description: ProcedureDescription): Procedure {
  const { name, params, returns, errors, doc, effects, tool, timeoutMs, stream } = description;
  assertName(name, 'a description');
  return Object.freeze({
    name,
    handler: notHere,
    links: [],
    authorize: undefined,
    chain: undefined,
    // Documents alone read these schemas, and want plain JSON.
    params: params as TObject | undefined,
    hasOrder: description.hasOrder === true,
    returns: returns as TSchema | undefined,
    errors: errors && { declared: errors as ErrorDeclarations, make: {} },
    doc: doc ?? null,
    effects,
    tool: tool === false || tool === 'content' ? tool : undefined,
    isAsync: description.isAsync === true,
    ignoresContext: false,
    placement: 'auto' as const,
    group: description.group,
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
    // Whoever runs it bounds how many run.
    maxConcurrency: undefined,
    bindParams: notHere,
    result: undefined,
    stream: stream && { ...stream, yields: stream.yields as TSchema | undefined, value: undefined },
    moduleState: undefined,
  });
}

function notHere(): never {
  throw new Error('a procedure that another process runs was called here');
}

function describeErrors(declared: ErrorDeclarations): NonNullable<ProcedureDescription['errors']> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, { code, message, data }]) => [
      name,
      { code, message, ...(data === undefined ? {} : { data: plainSchema(data) }) },
    ]),
  );
}

function describeStream({ stream }: Procedure): Pick<ProcedureDescription, 'stream'> {
  if (stream === undefined) return {};
  const { notification, unsubscribe, collect, drain, yields } = stream;
  const rules = { notification, unsubscribe, collect, drain };
  return { stream: yields === undefined ? rules : { ...rules, yields: plainSchema(yields) } };
}
