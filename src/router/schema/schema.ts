import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { messageOf } from '../../base/message-of.ts';
import { ErrorCode, type RpcError, standardError } from '../../jsonrpc/errors.ts';
import { RegistrationError } from '../registration-error.ts';
import type { ParamIssue, Procedure, ResultRules } from '../types.ts';
import { branchesWithin } from './branches.ts';
import { createChecks, openAsUnknown, thisAsRef } from './checks.ts';
import { compileDefaults } from './defaults.ts';
import { expectedText, explain, receivedType } from './explain.ts';
import { compileProjection } from './projection.ts';
import { assertSchema } from './schema-rules.ts';
import { kindOf, mapTree } from './schema-tree.ts';
import { assertShape, isShape, type ParamsSchema, paramsForms } from './shape.ts';
import { hasOrder, isStandard, type StandardSchema, sideOf } from './standard.ts';
import { standardValidator } from './standard-params.ts';

export interface CompiledParams {
  /**
   * The schema that calls are checked against: the declared one, except that unknown names are refused unless
   * `additionalProperties` allows them, and that a member with a default is not required. Of another library's schema,
   * what callers send.
   */
  readonly schema: TObject | undefined;
  /** Whether positional params are taken, in the order of the schema's members. */
  readonly hasOrder: boolean;
  readonly bindParams: Procedure['bindParams'];
}

type Named = Record<string, unknown>;

/**
 * Compiles the params of a procedure. `Type.Integer()` means what it means in JSON Schema: any number without a
 * fraction, 1e21 too. Add `minimum` and `maximum` where you need exact integers.
 *
 * @param where begins each message, e.g. `procedure "add"`
 * @throws RegistrationError
 */
export function compileParams(
  declared: TSchema | ParamsSchema | undefined,
  where: string,
  placement?: string,
): CompiledParams {
  if (declared === undefined)
    return { schema: undefined, hasOrder: false, bindParams: bindAnything };
  const place = `${where}: params`;
  if (isStandard(declared)) return compileStandard(declared, place, placement);
  if (isShape(declared)) assertShape(declared, place);
  const whole = isShape(declared) ? Type.Object({ ...declared }) : declared;
  if (!isObjectSchema(whole)) throw new RegistrationError(`${place} must be ${paramsForms}`);
  assertSchema(whole, place);
  // additionalProperties is added after `relax`, which would take the false for a schema.
  const schema = { ...relax(whole), additionalProperties: whole.additionalProperties ?? false };
  const checks = compiling(place, () => createChecks(schema, place));
  const { check } = checks;
  const fill = compiling(place, () => compileDefaults(schema, checks, place));
  // The cast is safe: the params have just been checked against the schema.
  const validate = (params: object): Named => {
    if (!check(params)) throw invalidParams(explain(schema, params, checks));
    return (fill === undefined ? params : fill(params)) as Named;
  };
  return { schema, hasOrder: true, bindParams: binder(schema, validate) };
}

/** Params that another library validates. */
function compileStandard(
  declared: StandardSchema,
  place: string,
  placement: string | undefined,
): CompiledParams {
  const schema = sideOf(declared, 'input', place);
  if (!isObjectSchema(schema))
    throw new RegistrationError(`${place} must be an object: its JSON Schema has another type`);
  assertSchema(schema, place, 'library');
  if (placement === undefined && branchesWithin(schema)) {
    throw new RegistrationError(
      `${place}: a union in a type that holds itself may take this library exponential time on what a caller sends: declare placement: 'worker', where a call can be stopped, or 'inline', where its callers are trusted`,
    );
  }
  const checks = compiling(place, () => createChecks(schema, place));
  const validate = standardValidator(declared, schema, checks);
  const ordered = hasOrder(declared);
  return { schema, hasOrder: ordered, bindParams: binder(schema, validate, ordered) };
}

/** Turns params of any form into named ones, which `validate` takes or refuses. */
function binder(
  schema: TObject,
  validate: (params: object) => Named,
  ordered = true,
): Procedure['bindParams'] {
  const names = Object.keys(schema.properties);
  const bindPositional = (args: readonly unknown[]): Named => {
    if (!ordered && args.length > 0) throw invalidParams([notNamed(expectedText(schema), args)]);
    if (args.length > names.length) throw invalidParams([tooMany(schema, args.length)]);
    const params: Named = {};
    args.forEach((arg, index) => {
      const name = names[index];
      // Safe: assertSchema refuses names that Object.prototype has.
      if (name !== undefined && arg !== undefined) params[name] = arg;
    });
    return validate(params);
  };
  return (params) => {
    if (params === undefined) return validate({});
    if (Array.isArray(params)) return bindPositional(params);
    if (typeof params === 'object' && params !== null) return validate(params);
    throw invalidParams([notNamed(expectedText(schema), params)]);
  };
}

export interface CompiledReturns {
  /** As declared; of another library's schema, what a handler returns. */
  readonly schema: TSchema | undefined;
  readonly result: ResultRules | undefined;
}

/** @throws RegistrationError */
export function compileReturns(
  declared: TSchema | StandardSchema | undefined,
  where: string,
  option: 'returns' | 'yields' = 'returns',
): CompiledReturns {
  if (declared === undefined) return { schema: undefined, result: undefined };
  const place = `${where}: ${option}`;
  const given = isStandard(declared) ? sideOf(declared, 'output', place) : declared;
  assertSchema(given, place);
  const schema = mapTree(given, compilable);
  const checks = compiling(place, () => createChecks(schema, place));
  const { project, isOpen } = compiling(place, () => compileProjection(schema, checks));
  const { check } = checks;
  const mismatchOf = (projected: unknown): string | undefined => {
    if (check(projected)) return undefined;
    const [first] = explain(schema, projected, checks);
    if (first === undefined) return 'it is of another type';
    const { path, message, expected, received } = first;
    return `${path === '' ? 'it' : path} ${message} (expected ${expected}, received ${received})`;
  };
  return { schema: given, result: { project, isOpen, mismatchOf } };
}

function invalidParams(issues: readonly ParamIssue[]): RpcError {
  return standardError(ErrorCode.InvalidParams, issues);
}

const anyObject = 'Record<string, unknown>';

/**
 * Binds the params of a procedure that declares none: any object. An empty array names nothing and orders nothing: many
 * clients send it where there are no params.
 */
function bindAnything(params: unknown): Named {
  if (params === undefined || (Array.isArray(params) && params.length === 0)) return {};
  if (typeof params === 'object' && params !== null && !Array.isArray(params))
    return params as Named;
  throw invalidParams([notNamed(anyObject, params)]);
}

function notNamed(expected: string, params: unknown): ParamIssue {
  const message = Array.isArray(params)
    ? 'must be named: this procedure declares no order'
    : 'must be an object or an array';
  return { path: '', message, expected, received: receivedType(params) };
}

/** Most names in a message. */
const maxNames = 32;

function tooMany(schema: TObject, count: number): ParamIssue {
  const names = Object.keys(schema.properties);
  const more = names.length > maxNames ? ', …' : '';
  const order = names.length === 0 ? 'none' : `${names.slice(0, maxNames).join(', ')}${more}`;
  const most =
    names.length === 1 ? '1 positional argument' : `${names.length} positional arguments`;
  const message = `must be at most ${most} (${order}), got ${count}`;
  return { path: '', message, expected: expectedText(schema), received: 'array' };
}

function isObjectSchema(schema: unknown): schema is TObject {
  return typeof schema === 'object' && schema !== null && kindOf(schema as TSchema) === 'Object';
}

/** Makes members that have a default optional, at every depth. */
function relax(schema: TObject): TObject {
  return mapTree(schema, (node) => {
    const required: unknown = node.required;
    if (kindOf(node) !== 'Object' || !Array.isArray(required)) return compilable(node);
    const properties = node.properties as Record<string, TSchema>;
    const rest = required.filter((name: string) => properties[name]?.default === undefined);
    const { required: _, ...others } = node;
    return (rest.length === 0 ? others : { ...others, required: rest }) as TSchema;
  }) as TObject;
}

/** The schema written so that TypeBox's compiler gives it its meaning. */
function compilable(node: TSchema): TSchema {
  return openAsUnknown(thisAsRef(node));
}

/** Adds the place to TypeBox's own errors (a reference without a target, for example), which name none. */
function compiling<Result>(place: string, compile: () => Result): Result {
  try {
    return compile();
  } catch (cause) {
    if (cause instanceof RegistrationError) throw cause;
    const reason = messageOf(cause);
    throw new RegistrationError(`${place}: TypeBox can't compile this schema: ${reason}`, {
      cause,
    });
  }
}
