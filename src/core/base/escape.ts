/**
 * Unicode properties instead of a list of characters, which would go stale:
 *
 *     Cc      control characters, which drive a terminal
 *     Cf      format characters, which reorder text (all bidirectional controls) or show nothing
 *     Zl, Zp  separators of lines and paragraphs, which end a line in some viewers
 *     Cs      halves of surrogate pairs, which no terminal is sent whole
 */
export const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `text` with every character that could forge or hide a line on a terminal written as \uXXXX. */
export function escapeControls(text: string): string {
  return text.replace(hidden, (character) => {
    // A character beyond U+FFFF becomes two escapes, as in JSON.
    const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16));
    return units.map((unit) => `\\u${unit.padStart(4, '0')}`).join('');
  });
}
