/**
 * Whether a text is longer in UTF-8 than `limit` bytes, where its length alone decides: a UTF-16 unit takes one to three
 * bytes. Undefined: the bytes must be counted. Nearly all texts are far from their limit.
 *
 * @param length of the text in UTF-16 units
 */
export function exceedsByLength(length: number, limit: number): boolean | undefined {
  if (length > limit) return true;
  return length * 3 <= limit ? false : undefined;
}
