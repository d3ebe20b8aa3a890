/** Types that hold themselves, of libraries that try the variants of a union one after the other. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { scope } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { build } from './params.ts';

/** How often a leaf of the last value was looked at. */
let looks = 0;
const seen = (): boolean => {
  looks += 1;
  return true;
};

const zLeaf = z.string().refine(seen);
const vLeaf = v.pipe(v.string(), v.check(seen));
const ark = (T: string | object) => {
  const arkLeaf = ['string', ':', seen] as const;
  const types = scope({ Leaf: arkLeaf, T, Params: { t: 'T' } } as never).export() as unknown as {
    Params: object;
  };
  return types.Params;
};

type Make = () => object;
const ofZod = (T: (self: z.ZodType) => z.ZodType): object => {
  const self: z.ZodType = z.lazy(() => T(self));
  return z.object({ t: self });
};
const ofValibot = (T: (self: v.GenericSchema) => v.GenericSchema): object => {
  const self: v.GenericSchema = v.lazy(() => T(self));
  return toStandardJsonSchema(v.object({ t: self }));
};

/** Types that are told apart. Each takes `value`. */
const isTold: Readonly<Record<string, Make>> = {
  'zod by a literal': () =>
    ofZod((T) =>
      z.union([
        z.discriminatedUnion('op', [
          z.object({ op: z.literal('+'), left: T, x: zLeaf }),
          z.object({ op: z.literal('-'), left: T, x: zLeaf }),
        ]),
        z.number(),
      ]),
    ),
  'valibot by a literal': () =>
    ofValibot((T) =>
      v.union([
        v.variant('op', [
          v.object({ op: v.literal('+'), left: T, x: vLeaf }),
          v.object({ op: v.literal('-'), left: T, x: vLeaf }),
        ]),
        v.number(),
      ]),
    ),
  'arktype by a literal': () =>
    ark([
      { op: "'+'", left: 'T', x: 'Leaf' },
      '|',
      [{ op: "'-'", left: 'T', x: 'Leaf' }, '|', 'number'],
    ]),
  'zod by the JSON type': () =>
    ofZod((T) => z.union([z.object({ left: T, x: zLeaf }), z.array(T), z.number()])),
  'valibot by the JSON type': () =>
    ofValibot((T) => v.union([v.object({ left: T, x: vLeaf }), v.array(T), v.number()])),
  'arktype by the JSON type': () => ark([{ left: 'T', x: 'Leaf' }, '|', ['T[]', '|', 'number']]),
  'zod with one variant that holds it': () =>
    ofZod((T) =>
      z.union([z.object({ left: T, x: zLeaf }), z.object({ op: z.string() }), z.number()]),
    ),
  'valibot with one variant that holds it': () =>
    ofValibot((T) =>
      v.union([v.object({ left: T, x: vLeaf }), v.object({ op: v.string() }), v.number()]),
    ),
  'arktype with one variant that holds it': () =>
    ark([{ left: 'T', x: 'Leaf' }, '|', [{ up: 'string' }, '|', 'number']]),
};

const isNotTold: Readonly<Record<string, Make>> = {
  zod: () =>
    ofZod((T) =>
      z.union([z.object({ left: T, x: zLeaf }), z.object({ left: T, y: zLeaf }), z.number()]),
    ),
  valibot: () =>
    ofValibot((T) =>
      v.union([v.object({ left: T, x: vLeaf }), v.object({ left: T, y: vLeaf }), v.number()]),
    ),
  arktype: () => ark([{ left: 'T', x: 'Leaf' }, '|', [{ left: 'T', y: 'Leaf' }, '|', 'number']]),
  'valibot, by a literal that its union does not look at first': () =>
    ofValibot((T) =>
      v.union([
        v.object({ op: v.literal('+'), left: T, x: vLeaf }),
        v.object({ op: v.literal('-'), left: T, x: vLeaf }),
        v.number(),
      ]),
    ),
  'valibot, to which an array is a record': () =>
    ofValibot((T) => v.union([v.record(v.string(), T), v.array(T), v.number()])),
};

function value(depth: number): unknown {
  return depth === 0 ? 1 : { op: '-', left: value(depth - 1), x: 'a' };
}

describe('a type of another library that holds itself', () => {
  for (const [name, make] of Object.entries(isTold)) {
    test(`${name} needs no placement, and is looked at once for each level`, () => {
      const { bindParams } = build(make());
      const counts = [4, 8].map((depth) => {
        looks = 0;
        bindParams({ t: value(depth) });
        return looks;
      });
      assert.deepEqual(counts, [4, 8]);
    });
  }

  for (const [name, make] of Object.entries(isNotTold)) {
    test(`needs a placement if its variants are not told apart: ${name}`, () => {
      const line =
        /procedure "p": params: a union in a type that holds itself .* differ neither by their JSON type nor by a literal member .*; tell them apart, or declare placement: 'worker'/;
      assert.throws(() => build(make()), line);
      for (const placement of ['worker', 'inline'] as const)
        assert.equal(build(make(), { placement }).placement, placement);
    });
  }
});
