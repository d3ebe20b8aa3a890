import type { SchemaNode } from '../../core/schema/model.ts';
import { plainNamesIn, refId } from '../../core/schema/schema-tree.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';
import { writeJson } from '../../core/schema/write-json.ts';

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
  readonly $ref?: string;
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

/** A schema that holds itself is followed this far. */
const maxDepth = 8;

/** Most items of an example, whatever `minItems` asks for. */
const maxItemsShown = 10;

/**
 * Params to begin with: the required ones, each the declared example or default, or else a plausible value. Not checked:
 * the server names what is wrong with it when it is sent.
 */
export function exampleParams(params: SchemaNode): unknown {
  const root = writeJson(params);
  return new Examples(plainNamesIn(root)).exampleOf(root as Schema, '', 0, 0);
}

class Examples {
  readonly #names: ReadonlyMap<string, JsonSchema>;

  constructor(names: ReadonlyMap<string, JsonSchema>) {
    this.#names = names;
  }

  /**
   * @param name the member's name: a member called `email` gets an address
   * @param index the member's position, so that a and b get different numbers
   */
  exampleOf(schema: Schema, name: string, index: number, depth: number): unknown {
    if (depth > maxDepth) return null;
    const { $ref, examples = [], enum: choices = [], anyOf = [], allOf } = schema;
    if (examples.length > 0) return examples[0];
    if ('default' in schema) return schema.default;
    if ('const' in schema) return schema.const;
    if (choices.length > 0) return choices[0];
    if ($ref !== undefined) {
      return this.exampleOf((this.#names.get(refId($ref)) ?? {}) as Schema, name, index, depth + 1);
    }
    if (anyOf[0] !== undefined) return this.exampleOf(anyOf[0], name, index, depth + 1);
    if (allOf !== undefined) {
      return Object.assign(
        {},
        ...allOf.map((part) => this.exampleOf(part, name, index, depth + 1)),
      );
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
        return this.#array(schema, name, depth + 1);
      case 'object':
        return this.#object(schema, depth + 1);
      default:
        return schema.type === undefined ? 'hello' : null;
    }
  }

  #array({ items, maxItems = 1, minItems }: Schema, name: string, depth: number): unknown[] {
    if (Array.isArray(items))
      return items.map((item: Schema, i) => this.exampleOf(item, name, i, depth));
    // One item shows its form, but not within a type that holds itself.
    const length = minItems ?? (depth > maxDepth / 2 ? 0 : Math.min(1, maxItems));
    return Array.from({ length: Math.min(length, maxItemsShown) }, (_, i) =>
      items === undefined ? i : this.exampleOf(items as Schema, name, i, depth),
    );
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): unknown {
    const entries = Object.entries(properties).filter(([name]) => required.includes(name));
    return Object.fromEntries(
      entries.map(([name, value], index) => [name, this.exampleOf(value, name, index, depth)]),
    );
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
