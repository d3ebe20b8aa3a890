import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ValueIds } from '../../../src/core/schema/value-ids.ts';

describe('the identity of a JSON value', () => {
  test('takes one look at each value, however deep it nests', () => {
    let reads = 0;
    const leaf = {
      get type() {
        reads += 1;
        return 'string';
      },
    };
    const identities = new ValueIds();
    let value: object = leaf;
    const seen = new Set<number>();
    for (let level = 0; level < 100; level += 1) {
      value = { level: [value], type: 'object' };
      seen.add(identities.of(value));
    }
    assert.deepEqual([reads, seen.size], [1, 100]);
  });

  test('is that of equal values, whatever the order of their members', () => {
    const identities = new ValueIds();
    const one = identities.of({ a: 1, b: { c: [1, 'x'], d: null } });
    assert.equal(identities.of({ b: { d: null, c: [1, 'x'] }, a: 1 }), one);
    for (const other of [
      { a: '1', b: { c: [1, 'x'], d: null } },
      { a: 1, b: { c: ['x', 1], d: null } },
      { a: 1, b: { c: { 0: 1, 1: 'x' }, d: null } },
      { a: 1, b: { c: [1, 'x'], d: {} } },
    ]) {
      assert.notEqual(identities.of(other), one);
    }
  });
});
