import { isDeepStrictEqual } from 'node:util';
import { Kind, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { messageOf } from '../../base/message-of.ts';
import { isObject } from '../../protocol/body.ts';
import { ErrorCode, type RpcError, standardError } from '../../protocol/errors.ts';
import { fromBase64 } from '../../schema/bytes.ts';
import { RegistrationError } from '../registration.ts';
import type { ParamIssue, Procedure } from '../types.ts';
import { type Checks, createChecks } from './checks.ts';
import {
  assertShape,
  isShape,
  isStandard,
  type ParamsSchema,
  paramsForms,
  type StandardSchema,
} from './declared.ts';
import { expectedText, explain, receivedType } from './explain.ts';
import { compileProjection } from './projection.ts';
import { assertSchema } from './schema-rules.ts';
import {
  escapePointer,
  holdsDefault,
  isSchema,
  kindOf,
  listOf,
  mapTree,
  membersOf,
  recordOf,
  someWithin,
} from './schema-tree.ts';
import { isOrdered, sideOf, standardValidator } from './standard.ts';
import { bytesKind } from './type.ts';

/**
 * The schema that calls are checked against is the declared one, except that unknown names are refused unless
 * `additionalProperties` allows them, and that a member with a default is not required. Of another library's schema it is
 * what callers send.
 */
export type CompiledParams = Pick<Procedure, 'params' | 'hasOrder' | 'bindParams'>;

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
  return { params: schema, hasOrder: true, bindParams: binder(schema, validate, true) };
}

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
  const ordered = isOrdered(declared);
  return { params: schema, hasOrder: ordered, bindParams: binder(schema, validate, ordered) };
}

/**
 * Whether a type that holds itself has a union of which two variants hold it. A library that tries one variant after
 * another may then look at each part of a value twice, and at its parts four times.
 */
function branchesWithin(schema: TSchema): boolean {
  // The references of another library's schema lead to a type around them.
  const refers = (one: TSchema): boolean => someWithin(one, (node) => kindOf(node) === 'Ref');
  return someWithin(
    schema,
    (node) => kindOf(node) === 'Union' && listOf(node.anyOf).filter(refers).length > 1,
  );
}

/** Turns params of any form into named ones, which `validate` takes or refuses. */
function binder(
  schema: TObject,
  validate: (params: object) => Named,
  hasOrder: boolean,
): Procedure['bindParams'] {
  const names = Object.keys(schema.properties);
  const bindPositional = (args: readonly unknown[]): Named => {
    if (!hasOrder && args.length > 0) throw invalidParams([notNamed(expectedText(schema), args)]);
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

/** The schema is the declared one; of another library's schema, what a handler returns. */
export type CompiledReturns = Pick<Procedure, 'returns' | 'result'>;

export function compileReturns(
  declared: TSchema | StandardSchema | undefined,
  where: string,
  option: 'returns' | 'yields' = 'returns',
): CompiledReturns {
  if (declared === undefined) return { returns: undefined, result: undefined };
  const place = `${where}: ${option}`;
  const given = isStandard(declared) ? sideOf(declared, 'output', place) : declared;
  assertSchema(given, place);
  const schema = mapTree(given, openAsUnknown);
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
  return { returns: given, result: { project, isOpen, mismatchOf } };
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
    if (kindOf(node) !== 'Object' || !Array.isArray(required)) return openAsUnknown(node);
    const properties = node.properties as Record<string, TSchema>;
    const rest = required.filter((name: string) => properties[name]?.default === undefined);
    const { required: _, ...others } = node;
    return (rest.length === 0 ? others : { ...others, required: rest }) as TSchema;
  }) as TObject;
}

/** A union or an intersection that takes every value is `unknown`, unless it has a default to fill in. */
function openAsUnknown(schema: TSchema): TSchema {
  const { anyOf, allOf, ...others } = schema;
  const isAny = (part: TSchema): boolean => ['Any', 'Unknown'].includes(kindOf(part) ?? '');
  const isOpen =
    kindOf(schema) === 'Intersect'
      ? listOf(allOf).every(isAny) && schema.unevaluatedProperties === undefined
      : kindOf(schema) === 'Union' && listOf(anyOf).some(isAny) && !holdsDefault(schema);
  return isOpen ? ({ ...others, [Kind]: 'Unknown' } as TSchema) : schema;
}

/** Adds the place to TypeBox's own errors (a reference without a target, for example), which name none. */
function compiling<Result>(place: string, compile: () => Result): Result {
  try {
    return compile();
  } catch (cause) {
    if (cause instanceof RegistrationError) throw cause;
    throw new RegistrationError(
      `${place}: TypeBox can't compile this schema: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** Fills the defaults into a valid value and decodes its bytes. Returns a copy, or the value itself if nothing was missing. */
type Fill = (value: unknown) => unknown;

/**
 * Compiles the defaults of a schema, nested ones included.
 *
 * @returns undefined for a schema without defaults and bytes: its calls pay nothing
 * @throws RegistrationError for a default that is not a JSON value, or does not match its own schema
 */
function compileDefaults(schema: TSchema, checks: Checks, where: string): Fill | undefined {
  const holdsBytes = someWithin(schema, (node) => kindOf(node) === bytesKind);
  if (!holdsBytes && !holdsDefault(schema)) return undefined;
  const compiler = new DefaultsCompiler(checks, where);
  const fill = compiler.compile(schema, '');
  compiler.assertFinite();
  const holdsName = someWithin(schema, ({ $id, $ref }) => $id !== undefined || $ref !== undefined);
  if (fill === undefined || !holdsName) return fill;
  return (value) => checks.remembering(() => fill(value));
}

/** Most arrays and objects that are made for one missing member: its default, and the defaults within that default. */
const maxMade = 256;

class DefaultsCompiler {
  readonly #checks: Checks;
  readonly #where: string;
  /** By `$id`. The entry of a recursive schema is made before its fill is complete. */
  readonly #named = new Map<string, Fill>();
  /** How many more defaults may be made for the missing member. */
  #left = Infinity;
  readonly #made: { readonly at: string; readonly make: () => unknown }[] = [];

  constructor(checks: Checks, where: string) {
    this.#checks = checks;
    this.#where = where;
  }

  /** Refuses a default that holds itself, which would never end, and defaults within each other that take 2^depth steps. */
  assertFinite(): void {
    for (const { at, make } of this.#made) {
      this.#left = maxMade;
      try {
        this.#checks.remembering(make);
      } catch (cause) {
        throw new RegistrationError(
          `${at} calls for itself without end, or for more than ${maxMade} others`,
          { cause },
        );
      }
    }
    this.#left = Infinity;
  }

  compile(schema: TSchema, path: string): Fill | undefined {
    const { $id } = schema;
    if (typeof $id !== 'string') return this.#compileBody(schema, path);
    const known = this.#named.get($id);
    if (known !== undefined) return known;
    let body: Fill | undefined;
    // The parts of an intersection may reach one object through one named schema, which must then fill it once.
    const fill = this.#checks.remembered((value) => (body === undefined ? value : body(value)));
    this.#named.set($id, fill);
    body = this.#compileBody(schema, path);
    return body && fill;
  }

  #compileBody(schema: TSchema, path: string): Fill | undefined {
    switch (kindOf(schema)) {
      case 'Object':
        return this.#object(schema, path);
      case 'Record':
        return this.#record(schema, path);
      case 'Array':
      case 'Tuple':
        return this.#items(schema, path);
      case 'Union':
        return this.#union(schema, path);
      case 'Intersect':
        return this.#intersection(schema, path);
      case 'Ref':
      case 'This':
      case 'Import': {
        const target = this.#checks.resolve(schema);
        return target && this.compile(target, path);
      }
      case bytesKind:
        // An intersection may lead to one text twice.
        return (value) => (typeof value === 'string' ? fromBase64(value) : value);
      default:
        return undefined;
    }
  }

  #object(schema: TSchema, path: string): Fill | undefined {
    const steps = membersOf(schema).flatMap(({ name, schema: member }) => {
      const place = `${path}/${escapePointer(name)}`;
      const fill = this.compile(member, place);
      const missing = this.#default(member, place, fill);
      return fill === undefined && missing === undefined ? [] : [{ name, fill, missing }];
    });
    const { additionalProperties: additional } = schema;
    const rest = isSchema(additional) ? this.compile(additional, `${path}/*`) : undefined;
    if (steps.length === 0 && rest === undefined) return undefined;
    const declared = new Set(Object.keys(schema.properties as object));
    return (value) => {
      if (!isObject(value)) return value;
      let copy: Named | undefined;
      for (const { name, fill, missing } of steps) {
        const given = value[name];
        const filled = given === undefined ? missing?.() : fill === undefined ? given : fill(given);
        if (filled === given) continue;
        copy ??= copyOf(value);
        // Safe: names that Object.prototype has are refused at registration.
        copy[name] = filled;
      }
      if (rest === undefined) return copy ?? value;
      return withOthers(copy ?? value, (name) => (declared.has(name) ? undefined : rest));
    };
  }

  /** A function that makes the default of a missing member, a new one for each call. */
  #default(member: TSchema, path: string, fill: Fill | undefined): (() => unknown) | undefined {
    const given: unknown = member.default;
    if (given === undefined) return undefined;
    const at = `${this.#where} at ${path}: the default`;
    if (!isJson(given)) throw new RegistrationError(`${at} must be a JSON value`);
    if (!this.#checks.ofPart(member)(given)) {
      throw new RegistrationError(
        `${at} ${shorten(JSON.stringify(given))} does not match its schema`,
      );
    }
    if (typeof given !== 'object' || given === null)
      return fill === undefined ? () => given : () => fill(given);
    const complete = fill ?? ((value: unknown) => value);
    // Each call parses a default of its own, so that a later change to the schema's object changes no call.
    const text = JSON.stringify(given);
    const make = (): unknown => {
      this.#left -= 1;
      if (this.#left < 0) throw new RangeError('too many defaults');
      return complete(JSON.parse(text));
    };
    this.#made.push({ at, make });
    return make;
  }

  #items({ items }: TSchema, path: string): Fill | undefined {
    if (items === undefined) return undefined;
    const fills = listOf(items).map((item, index) => this.compile(item, `${path}/${index}`));
    const each = Array.isArray(items) ? undefined : this.compile(items as TSchema, `${path}/*`);
    if ([each, ...fills].every((fill) => fill === undefined)) return undefined;
    return (value) => {
      if (!Array.isArray(value)) return value;
      let copy: unknown[] | undefined;
      for (let index = 0; index < value.length; index++) {
        const item: unknown = value[index];
        const filled = (each ?? fills[index])?.(item) ?? item;
        if (filled === item) continue;
        copy ??= [...(value as unknown[])];
        copy[index] = filled;
      }
      return copy ?? value;
    };
  }

  #record(schema: TSchema, path: string): Fill | undefined {
    const first = recordOf(schema);
    const { additionalProperties: additional } = schema;
    const fill = first && this.compile(first[1], `${path}/*`);
    const rest = isSchema(additional) ? this.compile(additional, `${path}/*`) : undefined;
    if (first === undefined || (fill === undefined && rest === undefined)) return undefined;
    const [names] = first;
    return (value) =>
      isObject(value) ? withOthers(value, (name) => (names.test(name) ? fill : rest)) : value;
  }

  /** Fills with the first variant that the value matches. */
  #union(schema: TSchema, path: string): Fill | undefined {
    const variants = listOf(schema.anyOf).map((variant) => ({
      check: this.#checks.ofPart(variant),
      fill: this.compile(variant, path),
    }));
    if (variants.every(({ fill }) => fill === undefined)) return undefined;
    return (value) => {
      const match = variants.find(({ check }) => check(value));
      return match?.fill === undefined ? value : match.fill(value);
    };
  }

  #intersection(schema: TSchema, path: string): Fill | undefined {
    const fills = listOf(schema.allOf).flatMap((part) => this.compile(part, path) ?? []);
    if (fills.length === 0) return undefined;
    return (value) => fills.reduce((filled: unknown, fill) => fill(filled), value);
  }
}

/** The object with the members for whose names there is a fill filled: a copy, or the object itself if all stay. */
function withOthers(value: Named, fillOf: (name: string) => Fill | undefined): Named {
  const filled = Object.entries(value).map(
    ([name, member]) => [name, fillOf(name)?.(member) ?? member] as const,
  );
  const same = filled.every(([name, member]) => member === value[name]);
  // `fromEntries` keeps a member called __proto__ a member.
  return same ? value : Object.fromEntries(filled);
}

/** `Object.assign` is ten times as fast as a spread, but would set the prototype from a member called __proto__. */
function copyOf(value: Named): Named {
  return Object.hasOwn(value, '__proto__') ? { ...value } : Object.assign({}, value);
}

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
