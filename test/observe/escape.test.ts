import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { escapeControls } from '../../src/core/base/escape.ts';

/** Whether a character may reach a terminal as it is: said by other properties than the ones it is escaped by. */
function isHarmless(character: string): boolean {
  return (
    /\p{L}|\p{M}|\p{N}|\p{P}|\p{S}|\p{Zs}|\p{Co}|\p{Cn}/u.test(character) &&
    !/\p{Bidi_Control}/u.test(character)
  );
}

describe('text for a terminal', () => {
  it('has no character of all there are that is not shown, and every other one as it was', () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      const escaped = escapeControls(character);
      if (isHarmless(character)) {
        if (escaped !== character) assert.fail(`U+${code.toString(16)} is escaped`);
      } else if (!/^(?:\\u[\da-f]{4}){1,2}$/.test(escaped)) {
        assert.fail(`U+${code.toString(16)} passes`);
      } else if (JSON.parse(`"${escaped}"`) !== character) {
        assert.fail(`U+${code.toString(16)} becomes another in JSON`);
      }
    }
  });
});
