/** Longest name to look for: a longer one is not a typing mistake. */
const maxNameLength = 256;

/**
 * Most characters compared in one search; a name that is skipped counts as one. Anyone may send unknown names. Among
 * 10,000 names that all resemble the unknown one, a search takes about 0.2 ms and does not reach the last names.
 */
const stepBudget = 20_000;

/**
 * The name nearest to `name`; undefined when none is near. Near is: one edit in up to four characters, two in up to
 * eight, three in longer names. A swap of neighbours is one edit.
 *
 * @param shared steps that the searches of one request may take together; this search subtracts its own
 */
export function suggest(
  name: string,
  names: Iterable<string>,
  shared: { left: number } = { left: stepBudget },
): string | undefined {
  if (name.length === 0 || name.length > maxNameLength || shared.left <= 0) return undefined;
  let limit = name.length <= 4 ? 1 : name.length <= 8 ? 2 : 3;
  const budget = Math.min(stepBudget, shared.left);
  let spent = 0;
  let nearest: string | undefined;
  for (const candidate of names) {
    if (spent >= budget) break;
    spent++;
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const { distance, steps } = boundedDistance(name, candidate, limit);
    spent += steps;
    // At least half of the letters must agree: a name of one letter would be near to every other such name.
    if (distance <= limit && distance * 2 <= Math.max(name.length, candidate.length)) {
      nearest = candidate;
      if (distance <= 1) break;
      limit = distance - 1;
    }
  }
  shared.left -= spent;
  return nearest;
}

/** The end of a message about a name that nobody knows. @param near what `suggest` has found; undefined gives an empty text */
export function didYouMean(near: string | undefined): string {
  return near === undefined ? '' : `; did you mean ${near}?`;
}

interface Distance {
  /** Any number above the limit means "too far": the exact distance is not computed then. */
  readonly distance: number;
  readonly steps: number;
}

/** Three rows of the table, shared by all searches. A search is synchronous, so no two use the rows at once. */
const rows = Array.from({ length: 3 }, () => new Uint16Array(2 * maxNameLength));

/**
 * Optimal string alignment distance. Only the cells within `limit` of the diagonal are computed, and the search ends as
 * soon as every cell of a row exceeds `limit`:
 *
 *          a d d        limit 1: `.` is not computed
 *        0 1 . .
 *     a  1 0 1 .
 *     d  . 1 0 1
 */
function boundedDistance(a: string, b: string, limit: number): Distance {
  const beyond = limit + 1;
  let aEnd = a.length;
  let bEnd = b.length;
  // Characters that both names share at their start or end do not change the distance.
  while (aEnd > 0 && bEnd > 0 && a.charCodeAt(aEnd - 1) === b.charCodeAt(bEnd - 1)) {
    aEnd -= 1;
    bEnd -= 1;
  }
  let start = 0;
  while (start < aEnd && start < bEnd && a.charCodeAt(start) === b.charCodeAt(start)) start += 1;
  const height = aEnd - start;
  const width = bEnd - start;
  let steps = a.length - height + 1;
  if (height === 0 || width === 0) return { distance: height + width, steps };

  let [older, last, row] = rows as [Uint16Array, Uint16Array, Uint16Array];
  for (let j = 0; j <= Math.min(width, limit + 1); j += 1) last[j] = j;
  for (let i = 1; i <= height; i += 1) {
    const from = Math.max(1, i - limit);
    const to = Math.min(width, i + limit);
    // The two cells beside the band stand for all cells outside of it.
    row[from - 1] = from === 1 ? i : beyond;
    row[to + 1] = beyond;
    let smallest = beyond;
    const unit = a.charCodeAt(start + i - 1);
    for (let j = from; j <= to; j += 1) {
      const other = b.charCodeAt(start + j - 1);
      let cost = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (unit === other ? 0 : 1),
      );
      if (
        i > 1 &&
        j > 1 &&
        unit === b.charCodeAt(start + j - 2) &&
        a.charCodeAt(start + i - 2) === other
      ) {
        cost = Math.min(cost, at(older, j - 2) + 1);
      }
      row[j] = cost;
      if (cost < smallest) smallest = cost;
    }
    steps += to - from + 1;
    if (smallest > limit) return { distance: beyond, steps };
    [older, last, row] = [last, row, older];
  }
  return { distance: at(last, width), steps };
}

function at(row: Uint16Array, index: number): number {
  return row[index] ?? 0;
}
