import { type TSchema, Type } from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { counted } from '../base/text.ts';
import { isObject } from '../base/value-kinds.ts';
import { ErrorCode, type RpcError, standardError } from '../protocol/errors.ts';
import { createChecks } from './check.ts';
import {
  assertShape,
  isShape,
  isStandard,
  type ParamsSchema,
  paramsForms,
  type ResultSchema,
  type StandardSchema,
} from './declared.ts';
import { expectedText, explain, type ParamIssue, receivedType } from './explain.ts';
import { assertCheckable } from './faults.ts';
import { compileDefaults } from './fill.ts';
import { readTypeBox } from './json-schema.ts';
import { type ObjectNode, resolved, type SchemaNode } from './model.ts';
import { branches } from './overlap.ts';
import { lengthGuard } from './pattern-limits.ts';
import { compileProjection, type ResultRules } from './project.ts';
import { isOrdered, sideOf, standardValidator } from './standard.ts';
import { kindOf } from './typebox.ts';

/**
 * The schema that calls are checked against is the declared one, except that unknown names are refused unless
 * `additionalProperties` allows them, and that a member with a default is not required. Of another library's schema it is
 * what callers send.
 */
export interface CompiledParams {
  readonly params: ObjectNode | undefined;
  /** Whether positional params are taken. */
  readonly hasOrder: boolean;
  /**
   * Turns params as they came (undefined, object or array) into named params with their defaults filled in.
   *
   * @throws RpcError -32602 with ParamIssue[] as its data
   */
  readonly bindParams: (params: unknown) => Named;
}

type Named = Record<string, unknown>;

/**
 * Compiles the params of a procedure. `Type.Integer()` means what it means in JSON Schema: any number without a
 * fraction, 1e21 too. Add `minimum` and `maximum` where you need exact integers.
 *
 * @throws RegistrationError
 */
export function compileParams(
  declared: TSchema | ParamsSchema | undefined,
  where: string,
  placement?: string,
): CompiledParams {
  if (declared === undefined)
    return { params: undefined, hasOrder: false, bindParams: bindAnything };
  const place = `${where}: params`;
  if (isStandard(declared)) return compileStandard(declared, place, placement);
  if (isShape(declared)) assertShape(declared, place);
  const whole = isShape(declared) ? Type.Object({ ...declared }) : declared;
  // Only objects have names for params.
  const schema = kindOf(whole) === 'Object' ? readTypeBox(whole, place, true) : undefined;
  if (schema?.kind !== 'object') throw new RegistrationError(`${place} must be ${paramsForms}`);
  assertCheckable(schema, place);
  const checks = createChecks(schema, place);
  const { check } = checks;
  const fill = compileDefaults(schema, checks, place);
  // The cast is safe: the params have just been checked against the schema.
  const validate = (params: object): Named => {
    if (!check(params)) throw invalidParams(explain(schema, params, checks));
    return (fill === undefined ? params : fill(params)) as Named;
  };
  return { params: schema, hasOrder: true, bindParams: binder(schema, validate, true) };
}

function compileStandard(
  declared: StandardSchema,
  place: string,
  placement: string | undefined,
): CompiledParams {
  const schema = resolved(sideOf(declared, 'input', place));
  if (schema.kind !== 'object')
    throw new RegistrationError(`${place} must be an object: its JSON Schema has another type`);
  assertCheckable(schema, place);
  if (placement === undefined && branches(schema, declared['~standard'].vendor === 'arktype')) {
    throw new RegistrationError(
      `${place}: a union in a type that holds itself may take this library exponential time on what a caller sends: two of its variants that hold it differ neither by their JSON type nor by a literal member (z.discriminatedUnion, v.variant); tell them apart, or declare placement: 'worker', where a call can be stopped, or 'inline', where its callers are trusted`,
    );
  }
  const checks = createChecks(schema, place);
  const validate = standardValidator(declared, schema, checks, lengthGuard(schema, place));
  const ordered = isOrdered(declared);
  return { params: schema, hasOrder: ordered, bindParams: binder(schema, validate, ordered) };
}

/** Turns params of any form into named ones, which `validate` takes or refuses. */
function binder(
  schema: ObjectNode,
  validate: (params: object) => Named,
  hasOrder: boolean,
): CompiledParams['bindParams'] {
  const names = schema.members.map(({ name }) => name);
  const bindPositional = (args: readonly unknown[]): Named => {
    if (!hasOrder && args.length > 0) throw invalidParams([notNamed(expectedText(schema), args)]);
    if (args.length > names.length) throw invalidParams([tooMany(schema, args.length)]);
    const params: Named = {};
    args.forEach((arg, index) => {
      const name = names[index];
      // Safe: assertCheckable refuses names that Object.prototype has.
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

/**
 * @returns what the handler gives, by its schema
 * @throws RegistrationError for what cannot be checked
 */
export function readResultSchema(declared: ResultSchema, place: string): SchemaNode {
  const schema = isStandard(declared)
    ? sideOf(declared, 'output', place)
    : readTypeBox(declared, place, false);
  assertCheckable(schema, place);
  return schema;
}

/** The schema is the declared one; of another library's schema, what a handler returns. */
export interface CompiledReturns {
  readonly returns: SchemaNode | undefined;
  readonly result: ResultRules | undefined;
}

export function compileReturns(
  declared: ResultSchema | undefined,
  where: string,
  option: 'returns' | 'yields' = 'returns',
): CompiledReturns {
  if (declared === undefined) return { returns: undefined, result: undefined };
  const place = `${where}: ${option}`;
  const schema = readResultSchema(declared, place);
  const checks = createChecks(schema, place);
  const { project, isOpen } = compileProjection(schema, checks);
  const { check } = checks;
  const mismatchOf = (projected: unknown): string | undefined => {
    if (check(projected)) return undefined;
    // There is an issue for each value that does not match.
    const [first] = explain(schema, projected, checks) as [ParamIssue];
    const { path, message, expected, received } = first;
    return `${path === '' ? 'it' : path} ${message} (expected ${expected}, received ${received})`;
  };
  return { returns: schema, result: { project, isOpen, mismatchOf } };
}

function invalidParams(issues: readonly ParamIssue[]): RpcError {
  return standardError(ErrorCode.InvalidParams, issues);
}

/**
 * Binds the params of a procedure that declares none: any object. An empty array is taken too, since many clients send it
 * if there are no params.
 */
function bindAnything(params: unknown): Named {
  if (params === undefined || (Array.isArray(params) && params.length === 0)) return {};
  if (isObject(params)) return params;
  throw invalidParams([notNamed('Record<string, unknown>', params)]);
}

function notNamed(expected: string, params: unknown): ParamIssue {
  const message = Array.isArray(params)
    ? 'must be named: this procedure declares no order'
    : 'must be an object or an array';
  return { path: '', message, expected, received: receivedType(params) };
}

const maxNames = 32;

function tooMany(schema: ObjectNode, count: number): ParamIssue {
  const names = schema.members.map(({ name }) => name);
  const more = names.length > maxNames ? ', …' : '';
  const order = names.length === 0 ? 'none' : `${names.slice(0, maxNames).join(', ')}${more}`;
  const message = `must be at most ${counted(names.length, 'positional argument')} (${order}), got ${count}`;
  return { path: '', message, expected: expectedText(schema), received: 'array' };
}
