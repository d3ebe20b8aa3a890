/** Schemas of TypeBox with all keywords that are checked, and values for a JSON Schema: right ones, and the same with edits. */
import { type TSchema, Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { Type as OwnType } from '../../../src/index.ts';
import { type Random, randomOf } from '../../jsonrpc/bodies.ts';

type Json = Readonly<Record<string, unknown>>;

/** Names that need care in code, in pointers and in expressions. */
const names = ['a', 'b', 'tag', 'a.b', 'x"y', '$ref', '/~'];
const name = fc.constantFrom(...names);
const count = fc.integer({ min: 0, max: 3 });
const bound = fc.constantFrom(-1, 0, 0.5, 1, 2, 3);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

/** What patterns there are, with texts that match them. */
const patterns: Readonly<Record<string, readonly string[]>> = {
  '^a': ['a', 'ab', 'a.b'],
  '^\\p{L}+$': ['a', 'Ana', 'b'],
  '^[^a]{0,2}$': ['', 'b', '👍', 'tag'.slice(0, 2)],
  b$: ['b', 'ab', 'a.b'],
};
const pattern = fc.constantFrom(...Object.keys(patterns));

/** With an independent reading of each. */
export const formats: Readonly<
  Record<string, { readonly samples: readonly string[]; readonly is: RegExp }>
> = {
  date: { samples: ['2024-02-29', '1999-12-31'], is: /^(?:2024-02-29|1999-12-31)$/ },
  uuid: {
    samples: ['8f4e9c6a-0d3b-4c1e-9a57-2f6b8e1d3c4a'],
    is: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  },
  byte: {
    samples: ['', 'YQ==', 'YWI=', 'AAEC', 'AAECAwQF'],
    is: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  },
};

function defined(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const numberOptions = fc
  .record({
    minimum: maybe(bound),
    exclusiveMinimum: maybe(bound),
    maximum: maybe(bound),
    exclusiveMaximum: maybe(bound),
    multipleOf: maybe(fc.constantFrom(0.1, 0.5, 1, 2, 3)),
  })
  .map(defined);

const textOptions = fc
  .record({
    minLength: maybe(count),
    maxLength: maybe(count),
    pattern: maybe(pattern),
    format: maybe(fc.constantFrom('date', 'uuid')),
  })
  // A text has a format or a length.
  .map(({ format, ...limits }) => (format === undefined ? defined(limits) : { format }));

const values: readonly unknown[] = [null, true, 0, 1, 1.5, 'a', 'ab', [], [1], {}, { a: 1 }];

const scalar: fc.Arbitrary<TSchema> = fc.oneof(
  fc.constantFrom<TSchema>(
    Type.Unknown(),
    Type.Any(),
    Type.Never(),
    Type.Null(),
    Type.Boolean(),
    Type.TemplateLiteral([Type.Literal('a'), Type.Union([Type.Literal('b'), Type.Number()])]),
  ),
  fc.constantFrom('a', 'b', 1, 1.5, true).map((value) => Type.Literal(value)),
  numberOptions.map((options) => Type.Number(options)),
  numberOptions.map((options) => Type.Integer(options)),
  { weight: 2, arbitrary: textOptions.map((options) => Type.String(options)) },
  fc.subarray(['a', 'ab', 'tag', '👍'], { minLength: 1 }).map((all) => Type.String({ enum: all })),
  fc.subarray([1, 2, 3], { minLength: 1 }).map((all) => Type.Integer({ enum: all })),
  fc.subarray([...values], { minLength: 1 }).map((all) => Type.Unknown({ enum: all })),
  fc.constantFrom(...values).map((value) => Type.Unknown({ const: value })),
  maybe(count).map((maxBytes) => OwnType.Base64(maxBytes === undefined ? {} : { maxBytes })),
);

const { schema } = fc.letrec<{ schema: TSchema }>((tie) => {
  const of = tie('schema');
  const list = (minLength: number, maxLength: number) => fc.array(of, { minLength, maxLength });
  const rest = fc.oneof(fc.constantFrom(undefined, true, false), of);
  const object = fc
    .record({
      members: fc.dictionary(name, fc.tuple(of, fc.boolean()), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
      additionalProperties: rest,
      patternProperties: maybe(fc.dictionary(pattern, of, { maxKeys: 2, noNullPrototype: true })),
      propertyNames: maybe(textOptions.map((options) => Type.String(options))),
      dependentRequired: maybe(
        fc.dictionary(name, fc.array(name, { maxLength: 2 }), {
          maxKeys: 1,
          noNullPrototype: true,
        }),
      ),
      minProperties: maybe(count),
      maxProperties: maybe(count),
    })
    .map(({ members, ...options }) =>
      Type.Object(
        Object.fromEntries(
          Object.entries(members).map(([key, [member, isOptional]]) => [
            key,
            isOptional ? Type.Optional(member) : member,
          ]),
        ),
        defined(options),
      ),
    );
  const array = fc
    .record({
      items: of,
      prefixItems: maybe(list(1, 2)),
      contains: maybe(of),
      minContains: maybe(count),
      maxContains: maybe(count),
      minItems: maybe(count),
      maxItems: maybe(count),
      uniqueItems: maybe(fc.constant(true)),
    })
    .map(({ items, ...options }) => Type.Array(items, defined(options)));
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 4, arbitrary: scalar },
      { weight: 3, arbitrary: object },
      { weight: 2, arbitrary: array },
      list(0, 3).map((items) => Type.Tuple(items)),
      of.map((member) => Type.Record(Type.String(), member)),
      fc
        .tuple(pattern, of, fc.constantFrom(undefined, false))
        .map(([one, member, additionalProperties]) =>
          Type.Record(Type.String({ pattern: one }), member, defined({ additionalProperties })),
        ),
      of.map((member) => Type.Record(Type.Union([Type.Literal('a'), Type.Literal('b')]), member)),
      { weight: 2, arbitrary: list(1, 3).map((variants) => Type.Union(variants)) },
      of.map((member) =>
        Type.Union(['a', 'b'].map((tag) => Type.Object({ tag: Type.Literal(tag), [tag]: member }))),
      ),
      list(2, 3).map((parts) => Type.Intersect(parts)),
      fc
        .tuple(object, object, rest)
        .map(([one, other, unevaluatedProperties]) =>
          Type.Intersect([one, other], defined({ unevaluatedProperties })),
        ),
      of.map((member) => Type.Not(member)),
      fc
        .tuple(scalar, fc.constantFrom('anyOf', 'allOf', 'not'), of)
        .map(([one, keyword, beside]) => ({
          ...one,
          [keyword]: keyword === 'not' ? beside : [beside],
        })),
      fc
        .tuple(of, fc.boolean())
        .map(([member, isClosed]) =>
          Type.Recursive((This) =>
            Type.Object(
              { a: member, next: Type.Optional(This), all: Type.Optional(Type.Array(This)) },
              isClosed ? { additionalProperties: false } : {},
            ),
          ),
        ),
      of.map((member) => {
        const types = Type.Module({
          Item: Type.Object({ of: member, list: Type.Optional(Type.Ref('List')) }),
          List: Type.Array(Type.Ref('Item')),
        });
        return types.Import('List') as TSchema;
      }),
    ),
  };
});

/** Any schema of TypeBox, of small size. */
export const schemas: fc.Arbitrary<TSchema> = schema;

const units = ['a', 'b', '.', '👍', '1'];

/** Makes values for a JSON Schema: most of them are right, or would be without one edit. */
export class Values {
  readonly #root: Json;
  readonly #random: Random;

  constructor(root: Json, start: number) {
    this.#root = root;
    this.#random = randomOf(start);
  }

  value(): unknown {
    const value = this.#of(this.#root, 0);
    return this.#random(2) === 0 ? value : this.#edited(value);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#random(items.length)] as T;
  }

  #any(depth: number): unknown {
    switch (depth > 2 ? 0 : this.#random(5)) {
      case 1:
        return Array.from({ length: this.#random(3) }, () => this.#any(depth + 1));
      case 2:
        return Object.fromEntries(
          Array.from({ length: this.#random(3) }, () => [this.#pick(names), this.#any(depth + 1)]),
        );
      default:
        return this.#pick([null, true, false, 0, 1, 2, -1, 0.3, 1.5, '', 'a', 'ab', '👍', 'abcd']);
    }
  }

  /** The value with one change at a place within it. */
  #edited(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.#random(4) === 0) return this.#any(1);
    if (Array.isArray(value)) {
      const items = [...(value as unknown[])];
      const at = this.#random(items.length + 1);
      const act = this.#random(3);
      if (act === 0) items.splice(at, 0, this.#pick([...items, this.#any(2)]));
      else if (act === 1 || at === items.length) items.splice(at, 1);
      else items[at] = this.#edited(items[at]);
      return items;
    }
    const members = { ...(value as Record<string, unknown>) };
    const known = this.#pick([...Object.keys(members), ...names]);
    const act = this.#random(3);
    if (act === 0) delete members[known];
    else members[known] = act === 1 ? this.#any(2) : this.#edited(members[known]);
    return members;
  }

  #of(given: unknown, depth: number): unknown {
    const json = typeof given === 'object' && given !== null ? (given as Json) : {};
    const { $ref, const: only, enum: listed, anyOf, allOf, type } = json;
    if (depth > 5) return this.#any(3);
    if (typeof $ref === 'string') return this.#of(this.#target($ref), depth + 1);
    if ('const' in json) return only;
    if (Array.isArray(listed)) return this.#pick(listed);
    if (Array.isArray(allOf) && allOf.length > 0) {
      const parts = allOf.map((part) => this.#of(part, depth + 1));
      return parts.every(
        (part) => typeof part === 'object' && part !== null && !Array.isArray(part),
      )
        ? Object.assign({}, ...parts)
        : this.#pick(parts);
    }
    if (Array.isArray(anyOf)) return anyOf.length === 0 ? null : this.#of(this.#pick(anyOf), depth);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return this.#random(2) === 0;
      case 'integer':
      case 'number':
        return this.#number(json);
      case 'string':
        return this.#text(json);
      case 'array':
        return this.#items(json, depth);
      case 'object':
        return this.#members(json, depth);
      default:
        return this.#any(depth);
    }
  }

  #target($ref: string): unknown {
    const found = idsIn(this.#root).get($ref);
    if (found !== undefined) return found;
    let at: unknown = this.#root;
    for (const step of $ref.split('/').slice(1)) at = (at as Json | undefined)?.[step];
    return at;
  }

  #number({ type, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf = 1 }: Json) {
    const near = [minimum, exclusiveMinimum, maximum, exclusiveMaximum].filter(
      (limit) => limit !== undefined,
    ) as number[];
    const base = this.#pick([0, ...near]) + this.#pick([0, 0, 1, -1]) * (multipleOf as number);
    const value = Math.round(base * 10) / 10;
    return type === 'integer' ? Math.round(value) : value;
  }

  #text({ minLength = 0, maxLength = 4, pattern: source, format }: Json): string {
    const known = typeof format === 'string' ? formats[format]?.samples : undefined;
    if (known !== undefined) return this.#pick(known);
    if (typeof source === 'string' && Object.hasOwn(patterns, source))
      return this.#pick(patterns[source] ?? []);
    if (typeof source === 'string') return this.#pick(['ab', 'a1', 'a0.5']);
    const least = minLength as number;
    const length = least + this.#random(Math.max(1, (maxLength as number) - least + 1));
    return Array.from({ length }, () => this.#pick(units)).join('');
  }

  #items(json: Json, depth: number): unknown[] {
    const { items, additionalItems, contains, minContains = 1, minItems = 0, maxItems = 3 } = json;
    const prefix = Array.isArray(items) ? (items as unknown[]) : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    const length = Math.min(
      Math.max(minItems as number, prefix.length + (rest === false ? 0 : this.#random(3))),
      maxItems as number,
    );
    const made = Array.from({ length }, (_, index) => this.#of(prefix[index] ?? rest, depth + 1));
    for (let n = 0; contains !== undefined && n < (minContains as number); n++)
      made[prefix.length + n] = this.#of(contains, depth + 1);
    return [...made];
  }

  #members(json: Json, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], patternProperties = {}, additionalProperties } = json;
    const made: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(properties as object)) {
      if ((required as string[]).includes(key) || this.#random(2) === 0)
        made[key] = this.#of(member, depth + 1);
    }
    for (const [source, member] of Object.entries(patternProperties as object)) {
      if (this.#random(2) === 0)
        made[this.#pick(patterns[source] ?? names)] = this.#of(member, depth + 1);
    }
    if (additionalProperties !== false && this.#random(2) === 0)
      made[this.#pick(names)] ??= this.#of(additionalProperties, depth + 1);
    return made;
  }
}

function idsIn(root: unknown, ids = new Map<string, unknown>()): ReadonlyMap<string, unknown> {
  if (typeof root !== 'object' || root === null) return ids;
  const { $id } = root as Json;
  if (typeof $id === 'string') ids.set($id, root);
  for (const part of Object.values(root)) idsIn(part, ids);
  return ids;
}
