/**
 * Schemas from generators: where the comparison says that nothing breaks, each value of the old schema is one of the new
 * one, and ajv is the judge. A schema that was only widened never breaks anybody.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import type { Ajv as AjvClass } from 'ajv';
import fc from 'fast-check';
import { Comparison, type Direction } from '../../../src/core/schema/compare.ts';
import type { Finding } from '../../../src/core/schema/findings.ts';
import { readJsonSchema } from '../../../src/core/schema/json-schema.ts';
import { cases, seed } from '../../seed.ts';

// CommonJS whose types do not fit an ES module's default import.
const { Ajv } = createRequire(import.meta.url)('ajv') as { Ajv: typeof AjvClass };

type Schema = Readonly<Record<string, unknown>> | boolean;

function findings(before: unknown, after: unknown, direction: Direction): readonly Finding[] {
  const [old, fresh] = [before, after].map((schema) =>
    readJsonSchema(schema, 'a schema', { strictness: 'document' }),
  );
  const [a, b] = direction === 'params' ? [old, fresh] : [fresh, old];
  assert.ok(a !== undefined && b !== undefined);
  return new Comparison(direction).within(a, b);
}

const names = ['a', 'b', 'c'] as const;
const limit = fc.integer({ min: -2, max: 3 });
const length = fc.integer({ min: 0, max: 3 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

function without(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const number = fc
  .record({
    type: fc.constantFrom('number', 'integer'),
    minimum: maybe(limit),
    exclusiveMinimum: maybe(limit),
    maximum: maybe(limit),
    exclusiveMaximum: maybe(limit),
    multipleOf: maybe(fc.constantFrom(1, 2, 3, 0.5)),
  })
  .map(without);

const text = fc
  .record({
    type: fc.constant('string'),
    minLength: maybe(length),
    maxLength: maybe(length),
    pattern: maybe(fc.constantFrom('^a', 'b$', '')),
  })
  .map(without);

const scalar: fc.Arbitrary<Schema> = fc.oneof(
  fc.constantFrom<Schema>({}, true, { type: 'null' }, { type: 'boolean' }),
  fc.constant<Schema>({ type: ['string', 'null'] }),
  number,
  text,
  fc
    .subarray([null, true, 0, 1, 1.5, 'a', 'ab', [], {}, { a: 1 }], { minLength: 1 })
    .map((values) => ({ enum: values })),
  fc.constantFrom('a', 1).map((value) => ({ const: value })),
);

const { schema } = fc.letrec<{ schema: Schema }>((tie) => {
  const inner = tie('schema');
  const several = fc.array(inner, { minLength: 1, maxLength: 3 });
  const object = fc
    .record({
      type: fc.constant('object'),
      properties: maybe(fc.dictionary(fc.constantFrom(...names), inner, { maxKeys: 3 })),
      required: maybe(fc.subarray([...names])),
      additionalProperties: maybe(fc.oneof(fc.boolean(), inner)),
      patternProperties: maybe(
        fc.constantFrom({ '^(.*)$': { type: 'string' } }, { '^a': { type: 'number' } }),
      ),
      minProperties: maybe(length),
      maxProperties: maybe(length),
    })
    .map(without);
  const array = fc
    .record({
      type: fc.constant('array'),
      items: maybe(inner),
      minItems: maybe(length),
      maxItems: maybe(length),
      uniqueItems: maybe(fc.boolean()),
    })
    .map(without);
  const tuple = fc
    .record({
      type: fc.constant('array'),
      items: fc.array(inner, { minLength: 1, maxLength: 2 }),
      additionalItems: maybe(fc.oneof(fc.boolean(), inner)),
    })
    .map(without);
  const tagged = several.map((parts) => ({
    anyOf: parts.map((part, index) => ({
      type: 'object',
      properties: { kind: { const: index }, a: part },
      required: ['kind'],
      additionalProperties: false,
    })),
  }));
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true, maxDepth: 3 },
      { arbitrary: scalar, weight: 3 },
      { arbitrary: object, weight: 4 },
      array,
      tuple,
      tagged,
      fc.constant({ $ref: '#/$defs/List' }),
      fc.tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), several).map(([keyword, parts]) => ({
        [keyword]: parts,
      })),
      inner.map((not) => ({ not })),
    ),
  };
});

/** With the type that references in it lead to. */
function rooted(one: unknown, item: unknown): Schema {
  const list = { type: 'object', properties: { a: item, next: { $ref: '#/$defs/List' } } };
  return { allOf: [one], $defs: { List: list } };
}
const isNode = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Values near to the limits of a schema. None has a member that the schema does not speak of. */
function samples(one: unknown, depth = 0): unknown[] {
  if (one === false) return [];
  const plain = [null, true, false, 0, 1, -1, 2, 3, 0.5, 2.5, '', 'a', 'ab', 'abcd', 'b'];
  if (!isNode(one) || depth > 4) return [...plain, [], {}];
  const lists = ['anyOf', 'oneOf', 'allOf'].flatMap(
    (name) => (one[name] as unknown[] | undefined) ?? [],
  );
  const values: unknown[] = [...plain, ...((one.enum as unknown[] | undefined) ?? [])];
  if ('const' in one) values.push(one.const);
  for (const part of lists) values.push(...samples(part, depth + 1));
  // What the parts of an intersection speak of, in one object.
  const objects = values.filter(isNode);
  if (objects.length > 1) values.push(Object.assign({}, ...objects.slice(-4)));
  const { items } = one;
  const inner = Array.isArray(items)
    ? items.map((item) => samples(item, depth + 1))
    : Array(3).fill(samples(items ?? true, depth + 1));
  const behind = Array.isArray(items) ? samples(one.additionalItems ?? false, depth + 1) : [];
  const picked = (from: unknown[] | undefined, at: number): unknown =>
    from?.[at % (from.length || 1)];
  for (let at = 0; at < 6; at++) {
    const list = inner.map((from: unknown[], index) => picked(from, at * 5 + index));
    values.push([], list.slice(0, 1), list.slice(0, 2), list, [...list, picked(behind, at)]);
  }
  const members = isNode(one.properties) ? Object.entries(one.properties) : [];
  const patterns = isNode(one.patternProperties) ? Object.entries(one.patternProperties) : [];
  // Of other members it does not speak, unless it names none at all.
  const isSilent =
    one.additionalProperties === undefined &&
    (patterns.length > 0 || one.properties !== undefined || one.type === undefined);
  const others = isSilent ? [] : samples(one.additionalProperties ?? true, depth + 1);
  for (let at = 0; at < 12; at++) {
    const value: Record<string, unknown> = {};
    members.forEach(([name, member], index) => {
      const from = samples(member, depth + 2);
      if ((at >> index) % 3 !== 2 && from.length > 0) value[name] = picked(from, at * 7 + index);
    });
    values.push({ ...value });
    for (const name of ['a', 'b', 'x']) {
      const matching = patterns.filter(([source]) => new RegExp(source, 'u').test(name));
      const from = [...others, ...matching.flatMap(([, part]) => samples(part, depth + 1))];
      if (!(name in value) && from.length > 0)
        values.push({ ...value, [name]: picked(from, at * 3) });
    }
  }
  return values;
}

const ajv = new Ajv({ strict: false, validateFormats: false });
/** One random change of a schema. */
function changed(one: unknown, pick: (most: number) => number, replacement: Schema): unknown {
  if (!isNode(one)) return replacement;
  // A schema without a type is read as the type that its keywords are about.
  const keys = Object.keys(one).filter((name) => name !== 'type');
  const key = keys[pick(keys.length)];
  const value = key === undefined ? undefined : one[key];
  switch (pick(4)) {
    case 0:
      return Object.fromEntries(Object.entries(one).filter(([name]) => name !== key));
    case 1:
      if (key === undefined) return replacement;
      if (typeof value === 'number') return { ...one, [key]: Math.abs(value + pick(3) - 1) || 1 };
      if (Array.isArray(value) && (key === 'required' ? value.length > 0 : value.length > 1)) {
        const at = pick(value.length);
        const inner = isNode(value[at]) ? changed(value[at], pick, replacement) : replacement;
        if (['anyOf', 'oneOf', 'allOf'].includes(key))
          return { ...one, [key]: value.with(at, inner) };
        return { ...one, [key]: value.filter((_, index) => index !== at) };
      }
      if (key === 'properties' && isNode(value)) {
        const name = names[pick(names.length)] ?? 'a';
        return {
          ...one,
          properties: { ...value, [name]: changed(value[name], pick, replacement) },
        };
      }
      return key === 'items' || key === 'not' || key === 'additionalProperties'
        ? { ...one, [key]: changed(value, pick, replacement) }
        : one;
    case 2:
      return { anyOf: [one, replacement] };
    default:
      return { allOf: [one] };
  }
}

/** For a reader who passes over members that the schema does not name. */
function opened(one: unknown): unknown {
  if (Array.isArray(one)) return one.map(opened);
  if (!isNode(one)) return one;
  const members = Object.entries(one).flatMap(([name, value]) => {
    if (name === 'additionalProperties' && value === false) return [];
    // Variants that such members told apart are then both right.
    if (name === 'oneOf') return [['anyOf', opened(value)]];
    return [[name, ['not', 'enum', 'const'].includes(name) ? value : opened(value)]];
  });
  return Object.fromEntries(members);
}

const numbers = fc.infiniteStream(fc.nat());
const pair = fc
  .tuple(schema, schema, numbers, fc.integer({ min: 0, max: 3 }))
  .map(([before, other, stream, changes]) => {
    let after: unknown = before;
    const pick = (most: number): number => (stream.next().value as number) % Math.max(1, most);
    for (let count = 0; count < changes; count++) after = changed(after, pick, other);
    return changes === 0 ? [before, other] : [before, after];
  });

describe('generated schemas', () => {
  for (const direction of ['params', 'result'] as const) {
    it(`that are called compatible as ${direction} keep every value`, () => {
      let compatible = 0;
      let values = 0;
      const property = fc.property(pair, scalar, scalar, ([before, after], one, other) => {
        const [old, fresh] = [rooted(before, one), rooted(after, other)];
        if (findings(old, fresh, direction).length > 0) return;
        compatible++;
        const [from, to] = direction === 'params' ? [old, fresh] : [fresh, opened(old) as Schema];
        const [gives, takes] = [ajv.compile(from), ajv.compile(to)];
        for (const value of samples(from)) {
          if (!gives(value)) continue;
          values++;
          assert.ok(takes(value), `${JSON.stringify(value)} is refused now`);
        }
      });
      fc.assert(property, { seed, numRuns: cases(400) });
      assert.ok(compatible > 40 && values > 1000, `${compatible} compatible, ${values} values`);
    });
  }
});
