import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Type } from '../../../src/index.ts';
import { cases, seed } from '../../seed.ts';
import { build, issuesOf } from './params.ts';

test('multipleOf is the divisibility of rational numbers', () => {
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
      const procedure = build({ value: Type.Number({ multipleOf: chosen }) });
      const [stepTop, stepBottom] = fraction(chosen);
      const places = String(stepBottom).length - 1;
      const made = tops.flatMap(([top, exponent]) => [
        Number(`${top}e${exponent}`),
        // A multiple, unless it has more digits than a double.
        Number(`${BigInt(top) * stepTop}e-${places}`),
      ]);
      for (const value of [...made, ...others].filter(Number.isFinite)) {
        const isTaken = issuesOf(procedure, { value }).length === 0;
        assert.equal(isTaken, isMultiple(value, chosen), `${value} of ${chosen}`);
      }
    }),
    { seed, numRuns: cases(200) },
  );
});
