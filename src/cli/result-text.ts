/**
 * What a call gives, in one line.
 *
 * @param returned the type of the result
 * @param yields the type of a stream's values; undefined: it is no stream
 */
export function resultText(returned: string, yields: string | undefined): string {
  if (yields === undefined) return returned;
  return `stream of ${yields}${returned === 'unknown' ? '' : `, then ${returned}`}`;
}
