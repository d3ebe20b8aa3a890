import type {
  ArrayNode,
  NumberNode,
  ObjectNode,
  SchemaNode,
  StringNode,
} from '../../core/schema/model.ts';

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

/** A schema that holds itself is followed this far. */
const maxDepth = 8;

/** Most items of an example, whatever `minItems` asks for. */
const maxItemsShown = 10;

/**
 * Params to begin with: the required ones, each the declared example or default, or else a plausible value. Not checked:
 * the server names what is wrong with it when it is sent.
 */
export function exampleParams(params: SchemaNode): unknown {
  return exampleOf(params, '', 0, 0);
}

/**
 * @param name the member's name: a member called `email` gets an address
 * @param index the member's position, so that a and b get different numbers
 */
function exampleOf(node: SchemaNode, name: string, index: number, depth: number): unknown {
  if (depth > maxDepth) return null;
  const { examples, default: byDefault } = node.notes;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (byDefault !== undefined) return byDefault;
  const within = (part: SchemaNode): unknown => exampleOf(part, name, index, depth + 1);
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'ref':
      return within(node.target);
    case 'union':
      return node.variants[0] && within(node.variants[0]);
    case 'intersection':
      return Object.assign({}, ...node.parts.map(within));
    case 'number':
    case 'integer':
      return exampleNumber(node, index);
    case 'string':
      return exampleString(node, name);
    case 'bytes':
      return 'aGVsbG8=';
    case 'boolean':
      return true;
    case 'array':
      return exampleArray(node, name, depth + 1);
    case 'object':
      return exampleObject(node, depth + 1);
    case 'null':
    case 'void':
      return null;
    default:
      return 'hello';
  }
}

function exampleArray(
  { prefix, rest, maxItems = 1, minItems }: ArrayNode,
  name: string,
  depth: number,
): unknown[] {
  if (prefix.length > 0) return prefix.map((item, i) => exampleOf(item, name, i, depth));
  // One item shows its form, but not within a type that holds itself.
  const length = minItems ?? (depth > maxDepth / 2 ? 0 : Math.min(1, maxItems));
  return Array.from({ length: Math.min(length, maxItemsShown) }, (_, i) =>
    exampleOf(rest, name, i, depth),
  );
}

function exampleObject({ members }: ObjectNode, depth: number): unknown {
  const required = members.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(
    required.map(({ name, node }, index) => [name, exampleOf(node, name, index, depth)]),
  );
}

function exampleNumber(node: NumberNode, index: number): number {
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = node;
  const { minimum = exclusiveMinimum + 1, maximum = exclusiveMaximum - 1 } = node;
  const step = node.multipleOf ?? (node.kind === 'integer' ? 1 : undefined);
  // 2, 3, ...: small numbers, so that the arguments differ.
  const value = Math.min(Math.max(index + 2, minimum), maximum);
  return step === undefined ? value : Math.ceil(value / step) * step;
}

function exampleString(
  { format = '', minLength = 0, maxLength }: StringNode,
  name: string,
): string {
  const text = byFormat[format] ?? byName.find(([pattern]) => pattern.test(name))?.[1] ?? 'hello';
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}
