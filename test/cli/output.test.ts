import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { joinLines, narrowed, table } from '../../src/cli/output.ts';
import { compactJson, memberText, prettyJson } from '../../src/cli/tools/call.ts';

describe('what call prints', () => {
  /** JSON.parse and JSON.stringify, where these lose nothing. */
  const values = [
    0,
    'a"\\,:{}[]',
    null,
    [],
    {},
    [[]],
    [{}],
    { '': [] },
    { a: { b: [1, 'x', {}] } },
  ];
  it('is JSON as JSON.stringify has it', () => {
    for (const value of values) {
      for (const text of [JSON.stringify(value), ` ${JSON.stringify(value, null, '\t\r\n ')} `]) {
        assert.equal(compactJson(text), JSON.stringify(value));
        assert.equal(prettyJson(text, false), JSON.stringify(value, null, 2));
      }
    }
  });

  it('keeps values as they were written', () => {
    const text = '{"id":9007199254740993, "x" : [1.0,1e3,-0,"\\u0041/"]}';
    assert.equal(compactJson(text), '{"id":9007199254740993,"x":[1.0,1e3,-0,"\\u0041/"]}');
  });

  it('is as long as it is deep', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    assert.equal(compactJson(deep), deep);
    assert.ok(prettyJson(deep, true).length < 50_000_000);
  });

  it('is the last member of that name', () => {
    const text =
      '{"a":{"result":1},"result":[{"result":2}],"b":"result","res\\u0075lt": {"result": 3 } }';
    assert.equal(memberText(text, 'result'), '{"result": 3 }');
    assert.equal(memberText(text, 'a'), '{"result":1}');
    assert.equal(memberText(text, 'none'), undefined);
  });
});

describe('what a terminal shows', () => {
  it('is indented, coloured, and drives nothing', () => {
    const value = { a: [1.5e-7, 'x\u009b"'], 'b:': true };
    const plain = '{\n  "a": [\n    1.5e-7,\n    "x\\u009b\\""\n  ],\n  "b:": true\n}';
    const text = JSON.stringify(value);
    assert.equal(prettyJson(text, false), plain);
    const coloured = prettyJson(text, true);
    assert.equal(stripVTControlCharacters(coloured), plain);
    assert.ok(coloured.includes('\u001b[36m"a"\u001b[39m: ['));
    assert.ok(coloured.includes('\u001b[35mtrue\u001b[39m'));
    assert.ok(coloured.includes('\u001b[33m1.5e-7\u001b[39m'));
  });

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
