import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { Ajv as AjvClass } from 'ajv';
import { buildObject, type ObjectRecipe } from './recipe.ts';
import { secrets } from './value.ts';

// Its types say that there is a default export, its code that there is none.
const require = createRequire(import.meta.url);
const { Ajv } = require('ajv') as { Ajv: typeof AjvClass };

/**
 * An independent reading of JSON Schema. It counts UTF-16 units as TypeBox does (JSON Schema counts characters), and
 * fills in defaults before it looks. Without `allErrors` it misses a required member whose name is empty.
 */
const ajv = new Ajv({
  strict: false,
  allErrors: true,
  useDefaults: true,
  unicode: false,
  logger: false,
});

interface Verdict {
  readonly isValid: boolean;
  /** With defaults filled in. */
  readonly value: unknown;
}

export type Judge = (params: string) => Verdict;

export function judgeOf(recipe: ObjectRecipe): Judge {
  // TypeBox's pattern for the names of a record leaves out those with a line break: a record takes them.
  const text = JSON.stringify(buildObject(recipe)).replaceAll('"^(.*)$":', '"^[^]*$":');
  const schema = JSON.parse(text) as Record<string, unknown>;
  // docs/protocol.md, "Parameters": unknown names are refused unless the schema says otherwise.
  schema.additionalProperties ??= false;
  const validate = ajv.compile(schema);
  return (params) => {
    const value: unknown = JSON.parse(params);
    return { isValid: validate(value), value };
  };
}

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** What validates comes back; what does not is refused, and told why without its values. */
export function assertReply(judge: Judge, params: string, text: string | undefined): void {
  assert.ok(text !== undefined, 'not answered');
  const { isValid, value } = judge(params);
  const { result, error } = JSON.parse(text) as Reply;
  if (isValid) {
    assert.equal(error, undefined, 'refused');
    assert.deepStrictEqual(result, value);
    return;
  }
  assert.equal(error?.code, -32602, 'not refused');
  const issues = error.data as Record<string, unknown>[];
  assert.ok(
    Array.isArray(issues) && issues.length >= 1 && issues.length <= 8,
    'one to eight issues',
  );
  for (const issue of issues) assertIssue(issue, JSON.parse(params));
  for (const secret of secrets) assert.ok(!text.includes(secret), 'the value is in the refusal');
}

function assertIssue(issue: Record<string, unknown>, params: unknown): void {
  assert.deepEqual(Object.keys(issue), ['path', 'message', 'expected', 'received']);
  const { path, message, expected, received } = issue;
  for (const part of [path, message, expected, received]) assert.equal(typeof part, 'string');
  assert.ok(message !== '' && expected !== '');
  // Long names are shortened.
  if (String(path).includes('…')) return;
  assert.equal(received, typeAt(params, String(path)), `received at ${String(path)}`);
}

/** What a JSON Pointer leads to, as a type name of docs/protocol.md. */
function typeAt(params: unknown, path: string): string {
  let value = params;
  for (const segment of path.split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    const has = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    value = has ? (value as Record<string, unknown>)[name] : undefined;
  }
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
