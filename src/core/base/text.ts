/** Pieces of messages. */

/** A number of things: `1 worker`, `2 workers`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** A noun with its article: `an array`. */
export function withArticle(noun: string): string {
  return `${/^[aeio]/i.test(noun) ? 'an' : 'a'} ${noun}`;
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The text itself, or its beginning if it has more than `most` characters. */
export function shortened(text: string, most: number, end = '…'): string {
  return text.length > most ? text.slice(0, most) + end : text;
}

/** A value in a message: short, never its members. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(shortened(value, 80));
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}
