import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { endOfValue, type Units } from '../../src/core/protocol/syntax.ts';
import { corpus } from '../hostile/json/corpus.ts';
import { seed } from '../seed.ts';
import { body, mutate, randomOf } from './bodies.ts';

/** The grammar by its table, held against JSON.parse and against the model. */

const codesOf = (text: string): Units =>
  Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));

/** Whether the text is one JSON value and nothing else. */
function isJson(units: Units, maxDepth = 1000): boolean {
  return endOfValue(units, 0, units.length, maxDepth) === units.length;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('it accepts what JSON.parse accepts, in code units and in bytes', () => {
  const seen = { json: 0, none: 0 };
  fc.assert(
    fc.property(body, fc.integer(), (base, start) => {
      const random = randomOf(start);
      for (let n = 0; n <= 100; n++) {
        // Blanks around a value are no part of it.
        const text = (n === 0 ? base : mutate(base, random)).replace(
          /^[ \t\r\n]+|[ \t\r\n]+$/g,
          '',
        );
        const expected = parses(text);
        seen[expected ? 'json' : 'none']++;
        assert.equal(isJson(codesOf(text)), expected, JSON.stringify(text));
        if (text.isWellFormed()) assert.equal(isJson(Buffer.from(text)), expected, text);
      }
    }),
    { seed, numRuns: 500 },
  );
  assert.ok(seen.json > 10_000 && seen.none > 10_000, JSON.stringify(seen));
});

test('each text of up to three characters of the grammar', () => {
  const characters = '{}[]:,"\\ueE+-.019tnfa \n\u0000\u001f\u007fé\uffff';
  const check = (text: string): void => {
    const trimmed = text.trim() === text && !/^[ \n]|[ \n]$/.test(text);
    if (text !== '' && trimmed)
      assert.equal(isJson(codesOf(text)), parses(text), JSON.stringify(text));
    if (text.length < 3) for (const character of characters) check(text + character);
  };
  check('');
});

test('the corpus of JSON texts', () => {
  let read = 0;
  for (const { name, bytes } of corpus) {
    const text = bytes.toString();
    if (!Buffer.from(text).equals(bytes) || /^[ \t\r\n]|[ \t\r\n]$/.test(text)) continue;
    read++;
    const isDeep = /array-depth-\d{4}/.test(name);
    assert.equal(isJson(bytes), parses(text) && !isDeep, name);
  }
  assert.ok(read > 250, String(read));
});

test('depth at its bound and one past it', () => {
  const nested = (n: number) => `${'[{"a":'.repeat(n)}1${'}]'.repeat(n)}`;
  assert.equal(isJson(codesOf(nested(5)), 10), true);
  assert.equal(isJson(codesOf(nested(5)), 9), false);
  assert.equal(isJson(codesOf('1'), 0), true);
  assert.equal(isJson(codesOf('[]'), 0), false);
});
