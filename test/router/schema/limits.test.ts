import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TObject, TSchema } from '@sinclair/typebox';
import fc from 'fast-check';
import { procedure, RegistrationError, RpcError, Type } from '../../../src/index.ts';
import { cases, seed } from '../../seed.ts';

/** The check of values by a schema, as calls are checked. */
function checkOf(schema: TSchema): (value: unknown) => boolean {
  const { bindParams } = procedure({ name: 'p', params: Type.Object({ v: schema }) }, () => null);
  return (v) => {
    try {
      bindParams({ v });
      return true;
    } catch (error) {
      assert.ok(error instanceof RpcError, String(error));
      return false;
    }
  };
}

/** @param table schemas with values that they take, and values that they refuse */
function assertTable(table: readonly (readonly [TSchema, unknown[], unknown[]])[]): void {
  for (const [schema, valid, invalid] of table) {
    const check = checkOf(schema);
    const shown = JSON.stringify(schema);
    for (const value of valid) assert.ok(check(value), `${shown} takes ${JSON.stringify(value)}`);
    for (const value of invalid)
      assert.ok(!check(value), `${shown} refuses ${JSON.stringify(value)}`);
  }
}

const multiple = (multipleOf: number): TSchema => Type.Number({ multipleOf });

describe('multipleOf', () => {
  test('is the divisibility of rational numbers', () => {
    const fraction = (value: number): readonly [bigint, bigint] => {
      const [digits = '', exponent = '0'] = String(value).split('e');
      const [whole = '', places = ''] = digits.split('.');
      const power = Number(exponent) - places.length;
      const scale = 10n ** BigInt(Math.abs(power));
      const top = BigInt(whole + places);
      return power < 0 ? [top, scale] : [top * scale, 1n];
    };
    const isMultiple = (value: number, step: number): boolean => {
      const [top, bottom] = fraction(value);
      const [stepTop, stepBottom] = fraction(step);
      return (top * stepBottom) % (bottom * stepTop) === 0n;
    };
    const digits = fc.oneof(fc.nat(200), fc.nat(1e6), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
    const power = fc.oneof(fc.integer({ min: -9, max: 3 }), fc.integer({ min: -330, max: 290 }));
    const step = fc
      .tuple(digits, power)
      .map(([top, exponent]) => Number(`${top}e${exponent}`))
      .filter((value) => value > 0 && Number.isFinite(value));
    const values = fc.array(
      fc.oneof(
        fc.tuple(fc.integer(), fc.integer({ min: -12, max: 2 })),
        fc.tuple(fc.maxSafeInteger(), fc.integer({ min: -330, max: 290 })),
      ),
      { minLength: 1, maxLength: 20 },
    );
    const doubles = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 5 });
    fc.assert(
      fc.property(step, values, doubles, (chosen, tops, others) => {
        const check = checkOf(multiple(chosen));
        const [stepTop, stepBottom] = fraction(chosen);
        const places = String(stepBottom).length - 1;
        const made = tops.flatMap(([top, exponent]) => [
          Number(`${top}e${exponent}`),
          // A multiple, unless it has more digits than a double.
          Number(`${BigInt(top) * stepTop}e-${places}`),
        ]);
        for (const value of [...made, ...others].filter(Number.isFinite))
          assert.equal(check(value), isMultiple(value, chosen), `${value} of ${chosen}`);
      }),
      { seed, numRuns: cases(200) },
    );
  });
});

describe('lengths of strings', () => {
  test('are those of Array.from', () => {
    const unit = fc.constantFrom('a', 'é', '👍', '\ud83d', '\udc4d');
    const text = fc.array(unit, { maxLength: 12 }).map((units) => units.join(''));
    const bounds = Array.from({ length: 9 }, (_, limit) => ({
      limit,
      least: checkOf(Type.String({ minLength: limit })),
      most: checkOf(Type.String({ maxLength: limit })),
    }));
    fc.assert(
      fc.property(text, (value) => {
        const { length } = Array.from(value);
        for (const { limit, least, most } of bounds) {
          assert.equal(least(value), length >= limit);
          assert.equal(most(value), length <= limit);
        }
      }),
      { seed, numRuns: cases(500) },
    );
  });
});

test('minContains and maxContains are about contains', () => {
  const contains = Type.Literal('x');
  const list = (options: object): TSchema => Type.Array(Type.Unknown(), options);
  assertTable([
    [list({ contains }), [['x'], ['x', 1, 'x']], [[], [1]]],
    [
      list({ contains, minContains: 2 }),
      [
        ['x', 'x'],
        ['x', 1, 'x'],
      ],
      [[], ['x']],
    ],
    [list({ contains, maxContains: 1 }), [['x'], [1, 'x']], [[], ['x', 'x']]],
    [list({ contains, minContains: 0 }), [[], [1], ['x', 'x']], []],
    [list({ contains, minContains: 0, maxContains: 1 }), [[], [1], ['x', 1]], [['x', 'x']]],
    [list({ contains, minContains: 2, maxContains: 1 }), [], [[], ['x'], ['x', 'x']]],
    [list({ minContains: 1 }), [[], [1]], []],
    [list({ maxContains: 1 }), [[], [1, 2]], []],
  ]);
});

test('registration refuses a keyword whose own value means nothing', () => {
  const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties'];
  counts.push('maxProperties', 'minContains', 'maxContains');
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
  const table: readonly (readonly [string[], string, valid: unknown[], invalid: unknown[]])[] = [
    [counts, 'a whole number, 0 or more', [0, 3], [-1, 1.5, '3', null, true, Number.NaN, 3n]],
    [bounds, 'a finite number', [-1, 0, 1.5], ['3', true, null, Number.POSITIVE_INFINITY]],
    [['multipleOf'], 'a number above 0, such as 0.01', [0.01, 3], [0, -1, '1', Infinity, null]],
    [['pattern'], 'a string', ['^a$'], [/a/, 1, null, ['a']]],
    [['format'], 'a string', ['date'], [1, true, null, {}]],
    [['uniqueItems'], 'true or false', [true, false], [1, 'true', null]],
  ];
  for (const [keywords, words, valid, invalid] of table) {
    for (const keyword of keywords) {
      const register = (value: unknown) => () => {
        const options = { [keyword]: value };
        const types = [
          Type.Number(options),
          Type.String(options),
          Type.Array(Type.Null(), options),
          Type.Record(Type.String(), Type.Null(), options),
        ];
        for (const type of types)
          procedure(
            { name: 'p', params: Type.Object({ a: Type.Array(type) }) as TObject },
            () => 0,
          );
      };
      for (const value of valid) assert.doesNotThrow(register(value));
      for (const value of invalid) {
        assert.throws(register(value), (error) => {
          assert.ok(error instanceof RegistrationError, String(error));
          const start = `procedure "p": params at /a/*: ${keyword} must be ${words}, not `;
          assert.ok(error.message.startsWith(start), error.message);
          return true;
        });
      }
    }
  }
});
