import type { AnyRouter } from '../core/procedures/router.ts';

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/**
 * A call that `router` accepts: the first procedure whose example has arguments, else one without arguments;
 * procedures without an `authorize` first.
 *
 * @returns undefined if no call was found
 */
export function exampleCall(router: AnyRouter): ExampleCall | undefined {
  const asks = (method: string): boolean => asksWho(router, method);
  const names = router.list();
  const open = names.filter((name) => !asks(name));
  return callOfOne(router, open) ?? callOfOne(router, names.filter(asks));
}

/** Whether an `authorize` decides who may call, the procedure's own or that of a merge. */
export function asksWho(router: AnyRouter, method: string): boolean {
  return router.get(method)?.links.some(({ kind }) => kind === 'authorize') === true;
}

function callOfOne(router: AnyRouter, names: readonly string[]): ExampleCall | undefined {
  let plain: ExampleCall | undefined;
  for (const method of names) {
    const params = exampleParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    plain ??= { jsonrpc: '2.0', id: 1, method };
  }
  return plain;
}

/** Plausible arguments for the procedure's required parameters; undefined if none are accepted. */
function exampleParams(router: AnyRouter, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const { required, properties } = procedure?.params ?? {};
  try {
    const params = exampleObject({ required: required ?? [], properties: properties ?? {} }, 0);
    // Arguments that pass the procedure's own validation make a line that works when it is pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

const byFormat: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:30:00Z',
  'date-time': '2026-01-31T12:30:00Z',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

const byName: readonly [pattern: RegExp, value: string][] = [
  [/e-?mail/i, 'ada@example.com'],
  [/password|secret/i, 'correct horse battery staple'],
  [/ur[il]$/i, 'https://example.com/'],
  [/text|message|body|query/i, 'to be or not to be'],
  [/name$|user/i, 'Ada'],
  [/currency/i, 'EUR'],
];

/** The part of a schema that is read here. Registration has checked it. */
interface Schema {
  readonly type?: unknown;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly multipleOf?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly items?: Schema | readonly Schema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/**
 * A plausible JSON value for a schema, for a line that is shown to people.
 *
 * @param name the parameter's name: a parameter called `email` gets an address
 * @param index the parameter's position, so that a and b get different numbers
 */
function example(schema: Schema, name: string, index: number, depth: number): unknown {
  // A recursive schema is cut here. The caller's validation decides whether the value is accepted.
  if (depth > 8) return null;
  const { examples = [], enum: choices = [], anyOf = [], allOf } = schema;
  if (examples.length > 0) return examples[0];
  if ('default' in schema) return schema.default;
  if ('const' in schema) return schema.const;
  if (choices.length > 0) return choices[0];
  if (anyOf[0] !== undefined) return example(anyOf[0], name, index, depth + 1);
  if (allOf !== undefined) {
    return Object.assign({}, ...allOf.map((part) => example(part, name, index, depth + 1)));
  }
  switch (schema.type) {
    case 'number':
    case 'integer':
      return exampleNumber(schema, index);
    case 'string':
      return exampleString(schema, name);
    case 'boolean':
      return true;
    case 'array':
      return exampleArray(schema, name, depth + 1);
    case 'object':
      return exampleObject(schema, depth + 1);
    default:
      return schema.type === undefined ? 'hello' : null;
  }
}

function exampleNumber(schema: Schema, index: number): number {
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const { minimum = exclusiveMinimum + 1, maximum = exclusiveMaximum - 1 } = schema;
  const step = schema.multipleOf ?? (schema.type === 'integer' ? 1 : undefined);
  // 2, 3, ...: small numbers, so that the arguments differ.
  const value = Math.min(Math.max(index + 2, minimum), maximum);
  return step === undefined ? value : Math.ceil(value / step) * step;
}

function exampleString({ format = '', minLength = 0, maxLength }: Schema, name: string): string {
  const text = byFormat[format] ?? byName.find(([pattern]) => pattern.test(name))?.[1] ?? 'hello';
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

function exampleArray(schema: Schema, name: string, depth: number): unknown[] {
  const { items, maxItems = 1, minItems = Math.min(1, maxItems) } = schema;
  if (Array.isArray(items)) return items.map((item: Schema, i) => example(item, name, i, depth));
  return Array.from({ length: Math.min(minItems, 100) }, (_, i) =>
    items === undefined ? i : example(items as Schema, name, i, depth),
  );
}

function exampleObject(
  { properties = {}, required = [] }: Schema,
  depth: number,
): Record<string, unknown> {
  const entries = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(
    entries.map(([name, value], index) => [name, example(value, name, index, depth)]),
  );
}
