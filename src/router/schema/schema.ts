import type { TObject, TSchema } from '@sinclair/typebox';
import { messageOf } from '../../base/message-of.ts';
import { ErrorCode, type RpcError, standardError } from '../../jsonrpc/errors.ts';
import { RegistrationError } from '../registration-error.ts';
import type { ParamIssue, Procedure, ResultRules } from '../types.ts';
import { createChecks, openAsUnknown, thisAsRef } from './checks.ts';
import { compileDefaults } from './defaults.ts';
import { expectedText, explain, receivedType } from './explain.ts';
import { compileProjection } from './projection.ts';
import { assertSchema } from './schema-rules.ts';
import { kindOf, mapTree } from './schema-tree.ts';

export interface CompiledParams {
  /**
   * The schema that calls are checked against: the declared one, except that unknown names are refused unless
   * `additionalProperties` allows them, and that a member with a default is not required.
   */
  readonly schema: TObject | undefined;
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
export function compileParams(declared: TSchema | undefined, where: string): CompiledParams {
  if (declared === undefined) return { schema: undefined, bindParams: bindAnything };
  if (!isObjectSchema(declared)) {
    throw new RegistrationError(
      `${where}: params must be a TypeBox object, made by Type.Object({...}) or model({...})`,
    );
  }
  const place = `${where}: params`;
  assertSchema(declared, place);
  // additionalProperties is added after `relax`, which would take the false for a schema.
  const schema = {
    ...relax(declared),
    additionalProperties: declared.additionalProperties ?? false,
  };
  const checks = compiling(place, () => createChecks(schema, place));
  const { check } = checks;
  const fill = compiling(place, () => compileDefaults(schema, checks, place));
  const names = Object.keys(schema.properties);

  // The casts below are safe: the params have just been checked against the schema.
  const bindNamed = (params: object): Named => {
    if (!check(params)) throw invalidParams(explain(schema, params, checks));
    return (fill === undefined ? params : fill(params)) as Named;
  };
  const bindPositional = (args: readonly unknown[]): Named => {
    if (args.length > names.length) throw invalidParams([tooMany(schema, args.length)]);
    const params: Named = {};
    args.forEach((arg, index) => {
      const name = names[index];
      // Safe: assertSchema refuses names that Object.prototype has.
      if (name !== undefined && arg !== undefined) params[name] = arg;
    });
    return bindNamed(params);
  };
  const bindParams = (params: unknown): Named => {
    if (params === undefined) return bindNamed({});
    if (Array.isArray(params)) return bindPositional(params);
    if (typeof params === 'object' && params !== null) return bindNamed(params);
    throw invalidParams([notNamed(expectedText(schema), params)]);
  };
  return { schema, bindParams };
}

/** @throws RegistrationError */
export function compileReturns(
  declared: TSchema | undefined,
  where: string,
): ResultRules | undefined {
  if (declared === undefined) return undefined;
  const place = `${where}: returns`;
  assertSchema(declared, place);
  const schema = mapTree(declared, compilable);
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
  return { project, isOpen, mismatchOf };
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
