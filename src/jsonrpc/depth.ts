const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Whether arrays and objects nest deeper than `maxDepth` anywhere in JSON text. Call it before JSON.parse,
 * which holds the thread for half a second on a million `[`. Never throws. For text that is not JSON the
 * answer means nothing: the parse that follows refuses the text.
 */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  // JSON that nests n deep has at least 2n characters.
  if (text.length < 2 * (maxDepth + 1)) return false;
  if (!hasMoreBracketsThan(text, maxDepth)) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i) - 1;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (++depth > maxDepth) return true;
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}

/** Counts opening brackets with the engine's native search. Most bodies have too few to nest too deep. */
function hasMoreBracketsThan(text: string, limit: number): boolean {
  let count = 0;
  for (let i = text.indexOf('{'); i !== -1; i = text.indexOf('{', i + 1)) {
    if (++count > limit) return true;
  }
  for (let i = text.indexOf('['); i !== -1; i = text.indexOf('[', i + 1)) {
    if (++count > limit) return true;
  }
  return false;
}

/** Index after the string that opens at `start`; the text's length when it never closes. */
export function endOfString(text: string, start: number): number {
  let i = start;
  for (;;) {
    i = text.indexOf('"', i + 1);
    if (i === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(i - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return i + 1;
  }
}
