import type { AnyRouter } from '../core/procedures/router.ts';

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Plausible arguments for the procedure's required parameters; undefined where none are accepted. */
function exampleParams(router: AnyRouter, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const required = procedure?.params?.required ?? [];
  const entries = Object.entries(procedure?.params?.properties ?? {})
    .filter(([name]) => required.includes(name))
    .map(([name, schema], index) => [name, exampleValue(schema, name, index)]);
  const params: Record<string, unknown> = Object.fromEntries(entries);
  try {
    // Arguments that pass the procedure's own validation make a line that works when it is pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

/**
 * A call that `router` accepts: the first procedure whose example has arguments, else one without arguments;
 * procedures without an `authorize` first.
 *
 * @returns undefined where no call was found
 */
export function exampleCall(router: AnyRouter): ExampleCall | undefined {
  const asks = (method: string): boolean => asksWho(router, method);
  const names = router.list();
  return (
    callOfOne(
      router,
      names.filter((name) => !asks(name)),
    ) ?? callOfOne(router, names.filter(asks))
  );
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

type Schema = Readonly<Record<string, unknown>>;

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

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOf(schema: Schema, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' ? value : undefined;
}

function exampleNumber(schema: Schema, index: number): number {
  const step = numberOf(schema, 'multipleOf') ?? (schema.type === 'integer' ? 1 : undefined);
  const above = numberOf(schema, 'exclusiveMinimum');
  const below = numberOf(schema, 'exclusiveMaximum');
  const least = numberOf(schema, 'minimum') ?? (above === undefined ? undefined : above + 1);
  const most = numberOf(schema, 'maximum') ?? (below === undefined ? undefined : below - 1);
  // 2, 3, ...: small numbers, so that the arguments differ.
  let value = index + 2;
  if (least !== undefined && value < least) value = least;
  if (most !== undefined && value > most) value = most;
  return step === undefined ? value : Math.ceil(value / step) * step;
}

function exampleString(schema: Schema, name: string): string {
  const format = schema.format;
  const known = typeof format === 'string' ? byFormat[format] : undefined;
  const text = known ?? byName.find(([pattern]) => pattern.test(name))?.[1] ?? 'hello';
  const padded = text.padEnd(numberOf(schema, 'minLength') ?? 0, 'x');
  return padded.slice(0, numberOf(schema, 'maxLength') ?? padded.length);
}

function exampleArray(schema: Schema, name: string, depth: number): unknown[] {
  const { items } = schema;
  if (Array.isArray(items)) {
    return items.map((item: unknown, i) => (isSchema(item) ? example(item, name, i, depth) : null));
  }
  const length = numberOf(schema, 'minItems') ?? Math.min(1, numberOf(schema, 'maxItems') ?? 1);
  return Array.from({ length: Math.min(length, 100) }, (_, i) =>
    isSchema(items) ? example(items, name, i, depth) : i,
  );
}

function exampleObject(schema: Schema, depth: number): Record<string, unknown> {
  const { properties, required } = schema;
  if (!isSchema(properties) || !Array.isArray(required)) return {};
  const entries = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(
    entries.map(([name, value], i) => [
      name,
      isSchema(value) ? example(value, name, i, depth) : null,
    ]),
  );
}

function example(schema: Schema, name: string, index: number, depth: number): unknown {
  // A recursive schema is cut here. The caller's validation decides whether the value is accepted.
  if (depth > 8) return null;
  const { examples, anyOf, allOf, const: constant, enum: choices } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if ('default' in schema) return schema.default;
  if ('const' in schema) return constant;
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  if (Array.isArray(anyOf) && isSchema(anyOf[0])) return example(anyOf[0], name, index, depth + 1);
  if (Array.isArray(allOf)) {
    const parts = allOf.filter(isSchema).map((part) => example(part, name, index, depth + 1));
    return Object.assign({}, ...parts);
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

/**
 * A plausible JSON value for a schema, for a line that is shown to people.
 *
 * @param name the parameter's name: a parameter called `email` gets an address
 * @param index the parameter's position, so that a and b get different numbers
 */
function exampleValue(schema: unknown, name: string, index: number): unknown {
  return isSchema(schema) ? example(schema, name, index, 0) : null;
}
