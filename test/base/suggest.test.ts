import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { suggest } from '../../src/core/base/suggest.ts';
import { seed } from '../seed.ts';

/** Edit distance with swaps of neighbours, by the definition. */
function distance(a: string, b: string): number {
  const table: number[][] = [];
  for (let i = 0; i <= a.length; i += 1) {
    const row: number[] = [];
    table.push(row);
    for (let j = 0; j <= b.length; j += 1) {
      if (i === 0 || j === 0) {
        row.push(i + j);
        continue;
      }
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(table[i - 1]![j]! + 1, row[j - 1]! + 1, table[i - 1]![j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, table[i - 2]![j - 2]! + 1);
      }
      row.push(cost);
    }
  }
  return table[a.length]![b.length]!;
}

describe('suggest', () => {
  const names = ['math.add', 'math.subtract', 'text.count', 'hash', 'sum'];

  test('finds one slip in short names, up to three in long ones', () => {
    assert.equal(suggest('hsah', names), 'hash');
    assert.equal(suggest('math.ad', names), 'math.add');
    assert.equal(suggest('math.substract', names), 'math.subtract');
    assert.equal(suggest('mahh.subtrakt', names), 'math.subtract');
    assert.equal(suggest('Hash', names), 'hash');
  });

  test('suggests nothing that is not near', () => {
    assert.equal(suggest('foobar', names), undefined);
    assert.equal(suggest('x', ['y']), undefined);
    assert.equal(suggest('', names), undefined);
    assert.equal(suggest('hash', []), undefined);
    assert.equal(suggest('h'.repeat(5000), names), undefined);
  });

  test('prefers the nearest, then the first', () => {
    assert.equal(suggest('userlist', ['userlost1', 'userlists']), 'userlists');
    assert.equal(suggest('cat1', ['cat2', 'cat3']), 'cat2');
  });

  test('agrees with the definition of the distance', () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', 'c'),
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(letters, letters, (name, candidate) => {
        const limit = name.length <= 4 ? 1 : name.length <= 8 ? 2 : 3;
        const actual = distance(name, candidate);
        const near = actual <= limit && actual * 2 <= Math.max(name.length, candidate.length);
        assert.equal(suggest(name, [candidate]), near ? candidate : undefined);
      }),
      { seed, numRuns: 2000 },
    );
  });

  test('stops reading when many long names resemble the one asked for', () => {
    let read = 0;
    function* similar(): Generator<string> {
      for (; read < 10_000; read += 1) yield `${'a'.repeat(240)}${String(read).padStart(16, '0')}`;
    }
    suggest(`${'a'.repeat(240)}${'b'.repeat(4)}${'c'.repeat(12)}`, similar());
    assert.ok(read < 1000, `read ${read} names`);
  });
});
