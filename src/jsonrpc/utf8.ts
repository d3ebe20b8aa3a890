/** Most bytes of UTF-8 that a UTF-16 unit takes. */
export const mostUnitBytes = 3;

/**
 * Whether a text is longer in UTF-8 than `limit` bytes, where its length alone decides: a UTF-16 unit takes one to three
 * bytes. Undefined: the bytes must be counted. Nearly all texts are far from their limit.
 *
 * @param length of the text in UTF-16 units
 */
export function exceedsByLength(length: number, limit: number): boolean | undefined {
  if (length > limit) return true;
  return length * mostUnitBytes <= limit ? false : undefined;
}

/** Whether a text takes more than `limit` bytes of UTF-8. */
export function textExceeds(text: string, limit: number): boolean {
  return exceedsByLength(text.length, limit) ?? Buffer.byteLength(text) > limit;
}
