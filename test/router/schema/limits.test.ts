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
  test('is about the decimal texts of both numbers', () => {
    assertTable([
      [
        multiple(0.01),
        [19.99, -19.99, 0, -0, 1, 4.35, 1e15, 9e15 + 1, 1e300],
        [19.999, 1e-3, 5e-324],
      ],
      [multiple(0.1), [0.3, 0.7, 1.1, 123456789012.3], [0.25, 0.30000000000000004]],
      [multiple(1e-8), [12_391_239_123, 1e-8, 3e-8], [1e-9, 1.5e-8]],
      [multiple(0.0001), [0.0075], [0.00751]],
      [multiple(1.5), [4.5, -4.5, 1e22 * 1.5], [35, 1e22]],
      [multiple(0.5), [1e308, 2 ** 52 + 0.5], [0.25]],
      [Type.Integer({ multipleOf: 0.123456789 }), [123_456_789], [1e308]],
      [multiple(3), [9, -9, 9_007_199_254_740_990, 3e300], [10, 4.5, 1e23, 9_007_199_254_740_991]],
      [multiple(10), [1e23, 1e300], [2 ** 53 - 1]],
      [multiple(5e-324), [5e-324, 1e-323, 1], []],
      [multiple(1e300), [1e300, -3e300, 0], [1e299, 1.5e300]],
      [multiple(0.12345678901234568), [0.12345678901234568], [0.1234567890123456]],
      [multiple(1e-25), [1, 3e-25], [1e-26]],
    ]);
  });

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
  test('count code points', () => {
    const faces = (count: number): string => '👍'.repeat(count);
    assertTable([
      [Type.String({ maxLength: 0 }), [''], ['a', '👍']],
      [Type.String({ maxLength: 1 }), ['', 'a', '👍', '\ud83d'], ['ab', 'a👍', '\udc4d\ud83d']],
      [Type.String({ maxLength: 4 }), [faces(4), 'é👍'], [faces(5), `${faces(4)}a`, 'abcde']],
      [Type.String({ minLength: 0 }), ['', 'a'], []],
      [Type.String({ minLength: 1 }), ['a', '👍'], ['']],
      [Type.String({ minLength: 3 }), ['abc', faces(3), 'a👍b', 'aaaaaa'], ['ab', faces(2), '👍x']],
      [Type.String({ minLength: 2, maxLength: 2 }), ['ab', faces(2)], ['👍', 'abc']],
    ]);
  });

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
