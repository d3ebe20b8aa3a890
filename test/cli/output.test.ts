import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinLines, narrowed, table } from '../../src/cli/output.ts';

describe('what a terminal shows', () => {
  it('in one line has no end of long blanks', () => {
    const blanks = ' '.repeat(1_000_000);
    assert.equal(joinLines(`\n a${blanks}b \r\n\n ${blanks}c\n`), `a${blanks}b c`);
  });

  it('as a table has columns of one width, and one line a row', () => {
    assert.deepEqual(table([['a', 'long cell', 'c'], ['bbb', 'x\ny'], ['']]), [
      'a    long cell  c',
      'bbb  x\\u000ay',
      '',
    ]);
    assert.equal(table(Array.from({ length: 200_000 }, () => ['a', 'b'])).length, 200_000);
  });

  it('as a table is narrowed to a terminal in the columns between the first and the last', () => {
    const long = 'x'.repeat(200);
    const rows = [
      ['name', 'params', 'result', 'description'],
      ['math.add', long, 'number', 'Adds.'],
      ['b', '-', long, ''],
    ];
    const lines = table(narrowed(rows, 60));
    assert.deepEqual(lines, [
      'name      params             result             description',
      `math.add  ${'x'.repeat(14)}...  number             Adds.`,
      `b         -                  ${'x'.repeat(14)}...`,
    ]);
    // What is short leaves its room to what is long.
    const [, , cell = ''] = narrowed([['name', 'p', long, 'd']], 60)[0] ?? [];
    assert.equal(cell.length, 60 - 'name'.length - 'p'.length - 'd'.length - 3 * 2);
    assert.deepEqual(narrowed(rows, undefined), rows);
    assert.deepEqual(narrowed(rows, 30), rows);
  });
});
