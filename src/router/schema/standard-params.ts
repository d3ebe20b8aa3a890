import type { TObject, TSchema } from '@sinclair/typebox';
import { ErrorCode, standardError } from '../../jsonrpc/errors.ts';
import type { ParamIssue } from '../types.ts';
import type { Checks } from './checks.ts';
import { expectedText, explain, maxIssues, receivedType } from './explain.ts';
import { escapePointer, listOf } from './schema-tree.ts';
import { type StandardIssue, type StandardSchema, vendorOf } from './standard.ts';

/** Most levels of a path, and most characters of a name in it: a caller chooses both. */
const maxLevels = 32;
const maxSegment = 64;

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
    if (result instanceof Promise || isThenable(result)) {
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

function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
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
  if (issues.length === 0)
    issues.push({
      path: '',
      message: unexplained,
      expected: expectedText(schema),
      received: 'object',
    });
  return issues;
}

/** Whether two paths are one, or one leads through the other: then both issues tell the same. */
function isWithin(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
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
    path += `/${escapePointer(name.length > maxSegment ? `${name.slice(0, maxSegment)}…` : name)}`;
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
