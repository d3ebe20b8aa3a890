import { messageOf } from '../base/message-of.ts';
import { RegistrationError } from '../base/registration-error.ts';
import { isObject, isThenable } from '../base/value-kinds.ts';
import { ErrorCode, standardError } from '../protocol/errors.ts';
import type { Checks } from './check.ts';
import type { StandardIssue, StandardSchema } from './declared.ts';
import { expectedText, explain, maxIssues, type ParamIssue, receivedType } from './explain.ts';
import { registerFormats } from './formats.ts';
import { readJsonSchema } from './json-schema.ts';
import { type ObjectNode, resolved, type SchemaNode } from './model.ts';
import { patternWithoutFlags } from './pattern-syntax.ts';
import { shownSegment } from './pointer.ts';
import { listOf } from './reading.ts';

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

interface StringSchema {
  readonly pattern?: unknown;
  readonly allOf?: readonly unknown[];
}

function withPattern(json: StringSchema, pattern: string): StringSchema {
  return { ...json, allOf: [...(json.allOf ?? []), { type: 'string', pattern }] };
}

interface ZodDefinition {
  readonly pattern?: unknown;
  readonly checks?: readonly { readonly _zod: { readonly def: ZodDefinition } }[];
}

/**
 * What a library must be told so that its JSON Schema has each pattern that it runs, and `onPattern` sees its flags.
 * By themselves all of them leave the flags out, and arktype and a lenient valibot each second pattern of a string.
 */
function libraryOptions(
  vendor: string,
  side: 'input' | 'output',
  onPattern: (pattern: RegExp) => void,
): Record<string, unknown> {
  if (vendor === 'zod') {
    const override = ({ zodSchema }: { zodSchema: { _zod: { def: ZodDefinition } } }) => {
      const { pattern, checks = [] } = zodSchema._zod.def;
      for (const part of [pattern, ...checks.map((check) => check._zod.def.pattern)])
        if (part instanceof RegExp) onPattern(part);
    };
    return { override };
  }
  if (vendor === 'arktype') {
    const patternIntersection = ({ base, pattern }: { base: StringSchema; pattern: string }) =>
      withPattern(base, pattern);
    return { fallback: { patternIntersection } };
  }
  if (vendor !== 'valibot') return {};
  // valibot has no JSON Schema for a check of one's own, which params may well have: the check itself still runs.
  const isLenient = side === 'input';
  const overrideAction = ({ valibotAction, jsonSchema }: ValibotAction) => {
    const { type, requirement } = valibotAction;
    if (type !== 'regex' || !(requirement instanceof RegExp)) return undefined;
    onPattern(requirement);
    if (!isLenient || jsonSchema.pattern === requirement.source) return undefined;
    return withPattern(jsonSchema, requirement.source);
  };
  return { overrideAction, ...(isLenient && { errorMode: 'ignore' }) };
}

interface ValibotAction {
  readonly valibotAction: { readonly type: string; readonly requirement?: unknown };
  readonly jsonSchema: StringSchema;
}

interface ArktypePatterns {
  readonly select?: (kind: 'pattern') => readonly { rule: string; flags?: string }[];
}

/**
 * The flags of the patterns of a schema. JSON Schema has none, and the libraries leave them out, but the limits of a pattern's
 * time, the check of results and the documents know what the JSON Schema says: `^(a|A)*$` takes linear time, with the flag i
 * exponential time.
 */
class PatternFlags {
  readonly #where: string;
  readonly #vendor: string;
  readonly #written = new Map<string, string>();

  constructor(where: string, vendor: string) {
    this.#where = where;
    this.#vendor = vendor;
  }

  /** @throws RegistrationError for a flag that no pattern can say */
  add(pattern: RegExp): void {
    const { source, flags } = pattern;
    const written = patternWithoutFlags(pattern);
    if (written === undefined)
      this.#refuse(
        pattern,
        `has the flags ${flags}, which JSON Schema lacks; write it without flags`,
      );
    if ((this.#written.get(source) ?? written) !== written)
      this.#refuse(
        pattern,
        'is also there with other flags, which JSON Schema lacks; write both with the same',
      );
    this.#written.set(source, written);
  }

  #refuse(pattern: RegExp, fault: string): never {
    throw new RegistrationError(
      `${this.#where}: the pattern ${pattern} (${this.#vendor}) ${fault}`,
    );
  }

  /** For JSON.parse: a pattern says what it matches by its flags. */
  readonly revive = (name: string, value: unknown): unknown =>
    name === 'pattern' && typeof value === 'string' ? (this.#written.get(value) ?? value) : value;
}

/**
 * One side of a schema: what callers send, or what a handler returns.
 *
 * @throws RegistrationError for a schema that can't say what it takes
 */
export function sideOf(
  schema: StandardSchema,
  side: 'input' | 'output',
  where: string,
): SchemaNode {
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
  const patternFlags = new PatternFlags(where, vendor);
  const options = libraryOptions(vendor, side, (pattern) => patternFlags.add(pattern));
  if (vendor === 'arktype') {
    // Every type of arktype has `select`, which Standard Schema does not name.
    for (const { rule, flags } of (schema as ArktypePatterns).select?.('pattern') ?? [])
      patternFlags.add(new RegExp(rule, flags));
  }
  let json: unknown;
  try {
    // A copy: what the library changes later must not change a procedure.
    json = JSON.parse(
      JSON.stringify(jsonSchema[side]({ target: 'draft-07', libraryOptions: options })),
      patternFlags.revive,
    );
  } catch (cause) {
    if (cause instanceof RegistrationError) throw cause;
    const why = messageOf(cause);
    let advice = '';
    if (side === 'output')
      advice = '; declare returns as what is sent, such as a string instead of a date';
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
  // The library itself validates what callers send. Nothing but our checks looks at what a handler returns.
  const strictness = side === 'input' ? 'library' : 'checked';
  return readJsonSchema(json, where, { strictness });
}

/** Most levels of a path: a caller chooses them. */
const maxLevels = 32;

/**
 * Validates named params with the schema's own library. It runs as the handler does: what it throws is a fault.
 *
 * @param guard refuses strings that are too long for their patterns
 * @throws RpcError -32602 with ParamIssue[] as its data
 */
export function standardValidator(
  standard: StandardSchema,
  schema: ObjectNode,
  checks: Checks,
  guard: ((params: object) => boolean) | undefined,
): (params: object) => Record<string, unknown> {
  const { validate } = standard['~standard'];
  const vendor = vendorOf(standard);
  return (params) => {
    if (guard?.(params) === false)
      throw standardError(ErrorCode.InvalidParams, explain(schema, params, checks));
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
  schema: ObjectNode,
  params: object,
  checks: Checks,
  given: readonly StandardIssue[],
): ParamIssue[] {
  const issues = checks.check(params) ? [] : explain(schema, params, checks);
  for (const issue of given) {
    if (issues.length >= maxIssues) break;
    if (typeof issue !== 'object' || issue === null) continue;
    const place = placeOf(schema, params, issue);
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

function placeOf(schema: SchemaNode, params: object, issue: StandardIssue): ParamIssue {
  let value: unknown = params;
  let part: SchemaNode | undefined = schema;
  let path = '';
  for (const step of listOf<PropertyKey | { key: PropertyKey }>(issue.path).slice(0, maxLevels)) {
    const name = String(typeof step === 'object' ? step?.key : step);
    value = memberOf(value, name);
    part = part && partOf(part, name);
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

function partOf(schema: SchemaNode, name: string): SchemaNode | undefined {
  const whole = resolved(schema);
  if (whole.kind === 'object') return whole.members.find((member) => member.name === name)?.node;
  if (whole.kind !== 'array') return undefined;
  return whole.prefix[Number(name)] ?? (whole.rest.kind === 'never' ? undefined : whole.rest);
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
