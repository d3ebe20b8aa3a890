// Control characters (Cc) drive a terminal; the bidirectional marks reorder what it shows; line and
// paragraph separators end a line in some viewers.
const controls = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** `text` with every character that could forge or hide a line on a terminal written as \uXXXX. */
export function escapeControls(text: string): string {
  return text.replace(
    controls,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
