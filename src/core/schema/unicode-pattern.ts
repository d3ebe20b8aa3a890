import { messageOf } from '../base/message-of.ts';

/** JSON Schema reads patterns with the flag `u`, where an escape that is not needed is a fault. */

/** The expression of a pattern; undefined: it is none. */
export function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** What is wrong with a pattern, and what to write instead where that is known; undefined: nothing. */
export function unicodeFault(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    const plain = unicodePattern(pattern);
    const hint = plain === pattern ? '' : `; write ${JSON.stringify(plain)}`;
    return `the pattern ${JSON.stringify(pattern)} is no regular expression with the flag u: ${messageOf(error)}${hint}`;
  }
}

/** A pattern without the escapes that the flag `u` does not take, if that makes it valid; else the pattern itself. */
export function unicodePattern(pattern: string): string {
  if (expressionOf(pattern) !== undefined) return pattern;
  const plain = withoutNeedlessEscapes(pattern);
  return expressionOf(plain) === undefined ? pattern : plain;
}

/** With the flag `u` a sign that means nothing may not be escaped: `\-` becomes `-`, but for that of a class. */
function withoutNeedlessEscapes(pattern: string): string {
  let isInClass = false;
  return pattern.replace(/\\(.)|[[\]]/gs, (whole, escaped?: string) => {
    if (escaped === undefined) {
      isInClass = whole === '[';
      return whole;
    }
    const isNeeded = /[\w^$\\.*+?()[\]{}|/]/.test(escaped) || (isInClass && escaped === '-');
    return isNeeded ? whole : escaped;
  });
}
