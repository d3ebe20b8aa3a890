/**
 * About how long a parsed value would be as JSON text, so that placement knows large params that did not
 * come as text. Infinity for what has more values than may be looked at (a cycle too).
 *
 * @param budget values that may be looked at; those that were looked at are subtracted
 */
export function roughLength(value: unknown, budget: { left: number }): number {
  try {
    return walk(value, budget);
  } catch {
    return Number.POSITIVE_INFINITY; // a getter that throws
  }
}

function walk(value: unknown, budget: { left: number }): number {
  if (typeof value !== 'object' || value === null) return 0;
  const open: unknown[] = [value];
  let length = 0;
  while (open.length > 0) {
    if (--budget.left < 0) return Number.POSITIVE_INFINITY;
    const next = open.pop();
    if (typeof next === 'string') {
      length += next.length + 2;
    } else if (typeof next === 'object' && next !== null) {
      const values: unknown[] = Array.isArray(next) ? next : Object.values(next);
      if (values.length + open.length > budget.left) return Number.POSITIVE_INFINITY;
      length += 2 * values.length + 2;
      open.push(...values);
    } else {
      length += 4;
    }
  }
  return length;
}
