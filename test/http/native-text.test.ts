import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createNativeText } from '../../src/server/http/uws/load.ts';
import { formsOf, texts } from '../texts.ts';

const bytes = Buffer.from('é');

describe('text for uWebSockets.js', () => {
  for (const [node, modules] of [
    [20, '115'],
    [22, '127'],
  ] as const) {
    test(`the binary for Node ${node} is given strings as they are`, () => {
      const nativeText = createNativeText(modules);
      for (const text of texts) assert.equal(nativeText(text), text);
      assert.equal(nativeText(bytes), bytes);
    });
  }

  for (const [node, modules] of [
    ['23', '131'],
    ['24', '137'],
    ['25', '141'],
    ['of the future', '999'],
    ['of an unknown version', 'unknown'],
  ] as const) {
    test(`the binary for Node ${node} is given ASCII as a string, and other text as UTF-8`, () => {
      const nativeText = createNativeText(modules);
      for (const text of texts.flatMap((one) => Object.values(formsOf(one)))) {
        const given = nativeText(text);
        if (typeof given === 'string') assert.match(given, /^[\0-\x7f]*$/);
        else assert.equal(Buffer.from(given).toString(), text);
      }
      assert.equal(nativeText('plain'), 'plain');
      assert.equal(nativeText(''), '');
      assert.equal(nativeText(bytes), bytes);
    });
  }
});
