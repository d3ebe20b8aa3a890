/**
 * Finds tokens as nearly every client writes them, without parsing. `readBody` reads all others.
 * These functions read the string itself: for a single small request, writing its codes costs more than it saves.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** Most characters of an id or a method here. The exact reader reads longer ones. */
export const quickLength = 256;

/** Index after a plain string: ASCII without escapes and control characters; -1: there is none. */
export function endOfPlainString(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) return -1;
  const limit = Math.min(text.length, start + 2 + quickLength);
  for (let i = start + 1; i < limit; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) return i + 1;
    if (c < 0x20 || c === BACKSLASH || c >= 0x7f) return -1;
  }
  return -1;
}

/** Index after an id that is a plain string, null, or an integer without exponent; -1: there is none. */
export function endOfPlainId(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfPlainString(text, start);
  if (first === 0x6e) return text.startsWith('null', start) ? start + 4 : -1;
  let i = first === MINUS ? start + 1 : start;
  const digits = i;
  for (let c = text.charCodeAt(i); c >= ZERO && c <= NINE; c = text.charCodeAt(i)) i++;
  const count = i - digits;
  // No leading zero. A fraction or an exponent is left to the exact reader: the caller expects `,` or `}` here.
  if (count === 0 || count > quickLength - 1) return -1;
  if (count > 1 && text.charCodeAt(digits) === ZERO) return -1;
  return i;
}

export function isBlank(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

export function skipBlanks(text: string, start: number): number {
  // Usually there is no blank: every other character of JSON is above the space.
  if (text.charCodeAt(start) > 0x20) return start;
  let i = start;
  while (isBlank(text.charCodeAt(i))) i++;
  return i;
}
