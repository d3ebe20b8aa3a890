/**
 * By property, since lists of characters go stale: control characters (Cc), which drive a terminal; format characters
 * (Cf), which reorder what it shows (all bidirectional controls are among them) or show nothing at all; separators of
 * lines and paragraphs (Zl, Zp), which end a line in some viewers; halves of surrogate pairs (Cs), which no terminal
 * is sent whole.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` with every character that could forge or hide a line on a terminal written as \uXXXX. */
export function escapeControls(text: string): string {
  return text.replace(hidden, (character) =>
    // Beyond U+FFFF two of them, as in JSON.
    Array.from({ length: character.length }, (_, i) => codeUnit(character.charCodeAt(i))).join(''),
  );
}

function codeUnit(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}
