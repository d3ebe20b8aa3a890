import { FormatRegistry, Kind, type TObject, type TSchema } from '@sinclair/typebox';
import { messageOf } from '../../base/message-of.ts';
import { isObject } from '../../protocol/body.ts';
import { ErrorCode, standardError } from '../../protocol/errors.ts';
import { registerFormats } from '../../schema/formats.ts';
import { isThenable, RegistrationError } from '../registration.ts';
import type { ParamIssue } from '../types.ts';
import type { Checks } from './checks.ts';
import type { StandardIssue, StandardSchema } from './declared.ts';
import { expectedText, explain, maxIssues, receivedType } from './explain.ts';
import { defined, listOf, refId, shownSegment } from './schema-tree.ts';

function vendorOf(schema: StandardSchema): string {
  const { vendor } = schema['~standard'] as { readonly vendor?: unknown };
  return typeof vendor === 'string' && vendor !== '' ? vendor : 'of a library without a name';
}

/** Whether its JSON Schema has the members in the order of the schema. That of arktype has them in another order. */
export function isOrdered(schema: StandardSchema): boolean {
  return schema['~standard'].vendor !== 'arktype';
}

const valibotAdvice =
  "add import { toStandardJsonSchema } from '@valibot/to-json-schema' and declare toStandardJsonSchema(v.object({...}))";

/**
 * One side of a schema, as if it had been written with TypeBox: what callers send, or what a handler returns.
 *
 * @throws RegistrationError for a schema that can't say what it takes
 */
export function sideOf(schema: StandardSchema, side: 'input' | 'output', where: string): TSchema {
  const { version, validate, jsonSchema } = schema['~standard'];
  const vendor = vendorOf(schema);
  if (version !== 1) {
    throw new RegistrationError(
      `${where}: this schema (${vendor}) has another version of Standard Schema than 1, the one known here`,
    );
  }
  if (typeof validate !== 'function' || typeof jsonSchema?.[side] !== 'function') {
    throw new RegistrationError(
      `${where}: this schema (${vendor}) does not say what it is in JSON Schema; ${vendor === 'valibot' ? valibotAdvice : 'take zod 4.2 or later, arktype, or valibot with @valibot/to-json-schema'}`,
    );
  }
  // valibot has no JSON Schema for a check of one's own, which params may well have: the check itself still runs.
  const isLenient = vendor === 'valibot' && side === 'input';
  const options = isLenient ? { libraryOptions: { errorMode: 'ignore' } } : {};
  let json: unknown;
  try {
    // A copy: what the library changes later must not change a procedure.
    json = JSON.parse(JSON.stringify(jsonSchema[side]({ target: 'draft-07', ...options })));
  } catch (cause) {
    const why = messageOf(cause);
    let advice = '';
    if (side === 'output')
      advice = '; declare returns as what is sent, such as a string in place of a date';
    else if (/\b(?:date|bigint)\b/i.test(why)) {
      advice =
        '; declare a string, of zod z.iso.datetime() or z.string(), and convert it in the handler';
    }
    throw new RegistrationError(
      `${where}: ${vendor} can't say what this is in JSON Schema: ${why}${advice}`,
      { cause },
    );
  }
  registerFormats();
  if (!isObject(json)) throw new RegistrationError(`${where}: its JSON Schema is no object`);
  return new Converter(json, where, side === 'output').convert(json, '#', 0);
}

/** Most levels of a path: a caller chooses them. */
const maxLevels = 32;

/**
 * Validates named params with the schema's own library. It runs as the handler does: what it throws is a fault.
 *
 * @throws RpcError -32602 with ParamIssue[] as its data
 */
export function standardValidator(
  standard: StandardSchema,
  schema: TObject,
  checks: Checks,
): (params: object) => Record<string, unknown> {
  const { validate } = standard['~standard'];
  const vendor = vendorOf(standard);
  return (params) => {
    const result: unknown = validate.call(standard['~standard'], params);
    if (isThenable(result)) {
      // Nobody waits for it: a rejection must not be one that nobody handles.
      Promise.resolve(result).catch(() => {});
      throw new TypeError(
        `the schema of the params (${vendor}) validates asynchronously: use a middleware for what has to wait`,
      );
    }
    if (typeof result !== 'object' || result === null)
      throw new TypeError(`the schema of the params (${vendor}) returned no result`);
    if ('issues' in result && result.issues !== undefined && result.issues !== null) {
      const issues = issuesOf(schema, params, checks, listOf<StandardIssue>(result.issues));
      throw standardError(ErrorCode.InvalidParams, issues);
    }
    if (!('value' in result))
      throw new TypeError(
        `the schema of the params (${vendor}) returned neither a value nor issues`,
      );
    return result.value as Record<string, unknown>;
  };
}

/**
 * The issues in the words of this package, as for a schema of TypeBox. What the JSON Schema does not explain (a check of
 * the author's own) has the library's message, unless that holds a value of the caller's.
 */
function issuesOf(
  schema: TObject,
  params: object,
  checks: Checks,
  given: readonly StandardIssue[],
): ParamIssue[] {
  const issues = checks.check(params) ? [] : explain(schema, params, checks);
  for (const issue of given) {
    if (issues.length >= maxIssues) break;
    if (typeof issue !== 'object' || issue === null) continue;
    const place = placeOf(schema, params, checks, issue);
    if (!issues.some(({ path }) => isWithin(path, place.path))) issues.push(place);
  }
  const expected = expectedText(schema);
  if (issues.length === 0)
    issues.push({ path: '', message: unexplained, expected, received: 'object' });
  return issues;
}

/** Whether two paths are one, or one leads through the other: then both issues tell the same. */
function isWithin(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

const unexplained = 'does not pass the check of its schema';

function placeOf(
  schema: TSchema,
  params: object,
  checks: Checks,
  issue: StandardIssue,
): ParamIssue {
  let value: unknown = params;
  let part: TSchema | undefined = schema;
  let path = '';
  for (const step of listOf<PropertyKey | { key: PropertyKey }>(issue.path).slice(0, maxLevels)) {
    const name = String(typeof step === 'object' ? step?.key : step);
    value = memberOf(value, name);
    part = part && partOf(part, name, checks);
    path += shownSegment(name);
  }
  return {
    path,
    message: safeMessage(issue.message, value),
    expected: part === undefined ? 'unknown' : expectedText(part),
    received: receivedType(value),
  };
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function partOf(schema: TSchema, name: string, checks: Checks): TSchema | undefined {
  const whole = checks.resolve(schema) ?? schema;
  const properties = (whole.properties ?? {}) as Record<string, TSchema>;
  if (Object.hasOwn(properties, name)) return properties[name];
  if (Array.isArray(whole.items)) return listOf(whole.items)[Number(name)];
  return whole.items as TSchema | undefined;
}

const maxMessage = 200;
/** Parts of a value that are looked for in a message. */
const maxLooked = 200;

/** A library's message, unless it holds a value (arktype: "was -1"; valibot: 'received "x"'). */
function safeMessage(message: unknown, value: unknown): string {
  if (typeof message !== 'string' || message === '' || message.length > maxMessage)
    return unexplained;
  const open = [value];
  for (let looked = 0; open.length > 0; looked++) {
    if (looked >= maxLooked) return unexplained;
    const part = open.pop();
    if (typeof part === 'object' && part !== null)
      open.push(...Object.values(part).slice(0, maxLooked));
    else if (part !== undefined && message.includes(String(part as string | number | boolean)))
      return unexplained;
  }
  return message;
}

type Json = Readonly<Record<string, unknown>>;

/** Most parts of a schema, and most levels, as for schemas of TypeBox. */
const maxParts = 10_000;
const maxDepth = 64;

/**
 * Gives a JSON Schema TypeBox's kinds, so that the same code checks, explains, projects and documents it. What callers send
 * is validated by the library: keywords that no kind has are left out. What a handler returns is checked by this
 * package alone: they stay, for registration to refuse them.
 */
class Converter {
  readonly #root: Json;
  readonly #where: string;
  readonly #isChecked: boolean;
  /** The places that references lead to and that are being written out, with their names once one is needed. */
  readonly #open = new Map<string, { id: string | undefined }>();
  #parts = 0;

  constructor(root: Json, where: string, isChecked: boolean) {
    this.#root = root;
    this.#where = where;
    this.#isChecked = isChecked;
  }

  convert(json: unknown, pointer: string | undefined, depth: number): TSchema {
    this.#parts += 1;
    if (this.#parts > maxParts || depth > maxDepth) {
      throw new RegistrationError(
        `${this.#where}: its JSON Schema has more than ${maxParts} parts or ${maxDepth} levels, written out`,
      );
    }
    if (json === false) return kind('Never', { not: {} });
    if (!isObject(json)) return kind('Unknown', {});
    if (typeof json.$ref === 'string') return this.#reference(json.$ref, depth);
    if (pointer === undefined) return this.#body(json, depth);
    const open: { id: string | undefined } = { id: undefined };
    this.#open.set(pointer, open);
    const body = this.#body(json, depth);
    this.#open.delete(pointer);
    return open.id === undefined ? body : ({ ...body, $id: open.id } as TSchema);
  }

  /** Written out where the reference stands, except within itself. */
  #reference($ref: string, depth: number): TSchema {
    const open = this.#open.get($ref);
    if (open !== undefined) {
      // T and a number, as TypeBox names types without a name: the documents number them anew.
      open.id ??= $ref === '#' ? 'T0' : refId($ref);
      return kind('Ref', { $ref: open.id });
    }
    const target = this.#targetOf($ref);
    if (target === undefined)
      throw new RegistrationError(
        `${this.#where}: its JSON Schema refers to ${JSON.stringify($ref)}, which it does not have`,
      );
    return this.convert(target, $ref, depth + 1);
  }

  #targetOf($ref: string): unknown {
    if (!$ref.startsWith('#')) return undefined;
    let target: unknown = this.#root;
    for (const segment of $ref.split('/').slice(1)) {
      const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
        return undefined;
      target = (target as Json)[name];
    }
    return target;
  }

  #body(json: Json, depth: number): TSchema {
    // Definitions are written out where they are used.
    const { $schema: _schema, $defs: _defs, definitions: _definitions, $id: _id, ...rest } = json;
    const inner = (part: unknown): TSchema => this.convert(part, undefined, depth + 1);
    const { type, anyOf, oneOf, allOf, enum: values, ...others } = rest;
    if ('const' in rest) return literal(rest.const, others);
    if (Array.isArray(values))
      return union(
        others,
        values.map((value) => literal(value, {})),
      );
    const parts: TSchema[] = [];
    for (const variants of [anyOf, oneOf])
      if (Array.isArray(variants))
        parts.push(union(parts.length === 0 ? others : {}, variants.map(inner)));
    if (Array.isArray(allOf)) parts.push(...allOf.map(inner));
    if (Array.isArray(type))
      parts.push(
        union(
          others,
          type.map((one: unknown) => inner({ ...others, type: one })),
        ),
      );
    else if (type !== undefined || parts.length === 0)
      parts.unshift(typed(type, others, inner, this.#isChecked));
    const [only] = parts;
    return only !== undefined && parts.length === 1
      ? only
      : kind('Intersect', { ...pick(others), allOf: parts });
  }
}

function union(json: Json, anyOf: readonly TSchema[]): TSchema {
  return kind('Union', { ...pick(json), anyOf });
}

/** What describes a schema, whatever its type is. */
function pick(json: Json): Json {
  const { title, description, default: fallback, examples, deprecated } = json;
  return defined<Json>({ title, description, default: fallback, examples, deprecated });
}

/** Keywords that hold schemas, and that no kind below has. */
const unread = ['contains', 'not', 'unevaluatedProperties', 'if', 'then', 'else'];

function typed(
  type: unknown,
  json: Json,
  inner: (part: unknown) => TSchema,
  isChecked: boolean,
): TSchema {
  const own = { ...json, type } as Record<string, unknown>;
  if (!isChecked) for (const keyword of unread) delete own[keyword];
  if (type === 'array') return items(own, inner, isChecked);
  if (type === 'object') return members(own, inner, isChecked);
  for (const keyword of ['items', 'properties', 'additionalProperties', 'patternProperties'])
    delete own[keyword];
  const name = typeof type === 'string' ? scalarKinds[type] : undefined;
  if (name === undefined) {
    delete own.type;
    return kind('Unknown', own);
  }
  return name === 'String' ? text(own) : kind(name, own);
}

const scalarKinds: Readonly<Record<string, string>> = {
  string: 'String',
  number: 'Number',
  integer: 'Integer',
  boolean: 'Boolean',
  null: 'Null',
};

/** A format that is known here says what the pattern beside it says. Others are left out: only their library knows them. */
function text(json: Json): TSchema {
  const { format, pattern, ...others } = json;
  if (typeof format === 'string' && FormatRegistry.Has(format))
    return kind('String', { ...others, format });
  if (typeof pattern !== 'string')
    return kind('String', pattern === undefined ? others : { ...others, pattern });
  // What zod gives for endsWith begins so. It says nothing, and a search for it takes time with the square of the length.
  return kind('String', { ...others, pattern: pattern.replace(/^\.\*/, '') });
}

function items(json: Json, inner: (part: unknown) => TSchema, isChecked: boolean): TSchema {
  const { prefixItems, items: given, additionalItems, contains, ...rows } = json;
  const others = contains === undefined ? rows : { ...rows, contains: inner(contains) };
  const tuple = prefixItems ?? given;
  if (!Array.isArray(tuple)) return kind('Array', { ...others, items: inner(given ?? {}) });
  const rest = prefixItems === undefined ? additionalItems : given;
  if (rest !== undefined && rest !== false) {
    // Items after those of a tuple are no kind's: `prefixItems` has its result refused.
    const refused = isChecked ? { prefixItems: tuple } : {};
    return kind('Array', { ...others, ...refused, items: inner({}) });
  }
  const { length } = tuple;
  return kind('Tuple', {
    ...others,
    items: tuple.map(inner),
    additionalItems: false,
    minItems: length,
    maxItems: length,
  });
}

function members(json: Json, inner: (part: unknown) => TSchema, isChecked: boolean): TSchema {
  const {
    properties,
    additionalProperties,
    patternProperties: patterns,
    propertyNames: names,
    ...others
  } = json;
  const entries = isObject(properties) ? Object.entries(properties) : [];
  const named = Object.fromEntries(entries.map(([name, member]) => [name, inner(member)]));
  const rest = patterns === undefined ? additionalProperties : true;
  const checked: Record<string, unknown> = {};
  if (isChecked && names !== undefined) checked.propertyNames = inner(names);
  if (isChecked && patterns !== undefined) checked.patternProperties = patterns;
  return kind('Object', {
    ...others,
    ...checked,
    properties: named,
    ...(rest === undefined ? {} : { additionalProperties: isObject(rest) ? inner(rest) : rest }),
  });
}

function literal(value: unknown, others: Json): TSchema {
  if (value === null) return kind('Null', { ...pick(others), type: 'null' });
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return kind('Literal', { ...pick(others), const: value, type: typeof value });
  return kind('Unknown', { ...pick(others), const: value });
}

function kind(name: string, json: Json): TSchema {
  return { ...json, [Kind]: name } as unknown as TSchema;
}
