/** Values looked at before a payload counts as unusually large. */
const mostValues = 10_000;

/**
 * About how long a parsed value would be as JSON text, so that placement knows large params that did not
 * come as text. Bounded: Infinity for what has more values than are worth looking at (a cycle too).
 */
export function roughLength(value: unknown): number {
  try {
    return walk(value);
  } catch {
    return Number.POSITIVE_INFINITY; // a getter that throws
  }
}

function walk(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const open: unknown[] = [value];
  let length = 0;
  for (let seen = 0; open.length > 0; seen++) {
    if (seen > mostValues || open.length > mostValues) return Number.POSITIVE_INFINITY;
    const next = open.pop();
    if (typeof next === 'string') {
      length += next.length + 2;
    } else if (typeof next === 'object' && next !== null) {
      const values: unknown[] = Array.isArray(next) ? next : Object.values(next);
      if (values.length > mostValues) return Number.POSITIVE_INFINITY;
      length += 2 * values.length + 2;
      open.push(...values);
    } else {
      length += 4;
    }
  }
  return length;
}
