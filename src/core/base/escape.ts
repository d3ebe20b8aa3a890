/**
 * Unicode properties instead of a list of characters, which would go stale:
 *
 *     Cc      control characters, which drive a terminal
 *     Cf      format characters, which reorder text (all bidirectional controls) or show nothing
 *     Zl, Zp  separators of lines and paragraphs, which end a line in some viewers
 *     Cs      halves of surrogate pairs, which no terminal is sent whole
 */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` with every character that could forge or hide a line on a terminal written as \uXXXX. */
export function escapeControls(text: string): string {
  return text.replace(hidden, (character) =>
    // A character beyond U+FFFF becomes two escapes, as in JSON.
    Array.from({ length: character.length }, (_, i) => codeUnit(character.charCodeAt(i))).join(''),
  );
}

function codeUnit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
