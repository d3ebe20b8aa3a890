/**
 * Schemas from generators: where the comparison says that nothing breaks, each value of the old schema is one of the new
 * schema, and ajv is the judge. A schema that was only widened never breaks anybody.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import type { Ajv as AjvClass } from 'ajv';
import fc from 'fast-check';
import { cases, seed } from '../seed.ts';
import { compareParamsQuickly } from './compared-apis.ts';

// CommonJS whose types do not fit an ES module's default import.
const { Ajv } = createRequire(import.meta.url)('ajv') as { Ajv: typeof AjvClass };

type Schema = Readonly<Record<string, unknown>> | boolean;

const names = ['a', 'b', 'c'] as const;
const limit = fc.integer({ min: -2, max: 3 });
const length = fc.integer({ min: 0, max: 3 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

function without(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

const scalar: fc.Arbitrary<Schema> = fc.oneof(
  fc.constant<Schema>({}),
  fc.constant<Schema>(true),
  fc.constantFrom<Schema>({ type: 'null' }, { type: 'boolean' }, { type: ['string', 'null'] }),
  fc
    .record({
      type: fc.constantFrom('number', 'integer'),
      minimum: maybe(limit),
      exclusiveMinimum: maybe(limit),
      maximum: maybe(limit),
      exclusiveMaximum: maybe(limit),
      multipleOf: maybe(fc.constantFrom(1, 2, 3, 0.5)),
    })
    .map(without),
  fc
    .record({
      type: fc.constant('string'),
      minLength: maybe(length),
      maxLength: maybe(length),
      pattern: maybe(fc.constantFrom('^a', 'b$', '')),
    })
    .map(without),
  fc
    .subarray([null, true, 0, 1, 1.5, 'a', 'ab', [], {}, { a: 1 }], { minLength: 1 })
    .map((values) => ({ enum: values })),
  fc.constantFrom('a', 1).map((value) => ({ const: value })),
);

const { schema } = fc.letrec<{ schema: Schema }>((tie) => {
  const inner = tie('schema');
  const members = fc.dictionary(fc.constantFrom(...names), inner, { maxKeys: 3 });
  const object = fc
    .record({
      type: maybe(fc.constant('object')),
      properties: maybe(members),
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
  const several = fc.array(inner, { minLength: 1, maxLength: 3 });
  const combined = fc
    .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), several)
    .map(([keyword, parts]) => ({ [keyword]: parts }));
  const denied = inner.map((not) => ({ not }));
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true, maxDepth: 3 },
      scalar,
      { arbitrary: object, weight: 3 },
      array,
      tuple,
      { arbitrary: combined, weight: 2 },
      { arbitrary: denied, weight: 1 },
    ),
  };
});

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
  const patterns = isNode(one.patternProperties) ? Object.values(one.patternProperties) : [];
  // Of other members it does not speak, unless it names none at all.
  const isSilent =
    one.additionalProperties === undefined &&
    patterns.length === 0 &&
    (one.properties !== undefined || one.type === undefined);
  const others = isSilent ? [] : samples(one.additionalProperties ?? true, depth + 1);
  for (let at = 0; at < 12; at++) {
    const value: Record<string, unknown> = {};
    members.forEach(([name, member], index) => {
      const from = samples(member, depth + 2);
      if ((at >> index) % 3 !== 2 && from.length > 0) value[name] = picked(from, at * 7 + index);
    });
    values.push({ ...value });
    for (const name of ['a', 'b', 'x']) {
      const from = [...others, ...patterns.flatMap((part) => samples(part, depth + 1))];
      if (!(name in value) && from.length > 0)
        values.push({ ...value, [name]: picked(from, at * 3) });
    }
  }
  return values;
}

const ajv = new Ajv({ strict: false, validateFormats: false });

/** Whether the schema takes any value; one that asks for members without a type must take an object, too. */
function takesSome(one: Schema): boolean {
  const valid = ajv.compile(one);
  const taken = samples(one).filter((value) => valid(value));
  const asksForMembers = isNode(one) && one.type === undefined && one.required !== undefined;
  return asksForMembers ? taken.some(isNode) : taken.length > 0;
}

/** The schema, and all schemas within it. */
function schemasIn(one: unknown): Schema[] {
  if (typeof one === 'boolean') return [one];
  if (!isNode(one)) return [];
  const { properties = {}, items = [], additionalProperties, additionalItems, not } = one;
  const lists = [one.anyOf, one.oneOf, one.allOf, items].flat();
  const inner = [...lists, ...Object.values(properties as object), additionalItems, not];
  const others = isNode(additionalProperties) ? [additionalProperties] : [];
  return [one, ...[...inner, ...others].flatMap(schemasIn)];
}

/** One random change of a schema. */
function changed(one: unknown, pick: (most: number) => number, replacement: Schema): unknown {
  if (!isNode(one)) return replacement;
  const keys = Object.keys(one);
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

const pair = fc
  .tuple(schema, schema, fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 3 }))
  .map(([before, other, stream, changes]) => {
    let after: unknown = before;
    const pick = (most: number): number => (stream.next().value as number) % Math.max(1, most);
    for (let count = 0; count < changes; count++) after = changed(after, pick, other);
    return changes === 0 ? [before, other] : [before, after];
  });

describe('generated schemas', () => {
  it('that are called compatible take every value of the old one', () => {
    let compatible = 0;
    let values = 0;
    fc.assert(
      fc.property(pair, ([before, after]) => {
        if (compareParamsQuickly(before, after).length > 0) return;
        compatible++;
        const [old, fresh] = [ajv.compile(before as Schema), ajv.compile(after as Schema)];
        for (const value of samples(before)) {
          if (!old(value)) continue;
          values++;
          assert.ok(fresh(value), `${JSON.stringify(value)} is refused now`);
        }
      }),
      { seed, numRuns: cases(200) },
    );
    assert.ok(compatible > 40 && values > 1000, `${compatible} compatible, ${values} values`);
  });

  it('that were widened break nobody', () => {
    fc.assert(
      fc.property(schema, schema, (before, other) => {
        // Of a schema that takes nothing, anything can be said.
        if (!schemasIn(before).every(takesSome)) return;
        const widened: unknown[] = [{ anyOf: [other, before] }, {}, before];
        if (isNode(before)) {
          const {
            pattern: _pattern,
            maximum: _maximum,
            maxLength: _length,
            maxItems: _items,
            not: _not,
            ...rest
          } = before;
          widened.push(rest);
          // Where other members are spoken of, a member of that name was allowed before.
          const isSilent = !before.additionalProperties && before.patternProperties === undefined;
          if (isSilent && isNode(before.properties)) {
            widened.push({ ...before, properties: { ...before.properties, d: other } });
          }
        }
        for (const after of widened) {
          const lines = compareParamsQuickly(before, after).filter((line) => line.startsWith('!'));
          assert.deepEqual(lines, [], JSON.stringify(after));
        }
      }),
      { seed, numRuns: cases(60) },
    );
  });
});
