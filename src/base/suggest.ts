/** Longer names are nobody's typing mistake. */
const longestName = 256;

/**
 * Characters compared in one search, a name that is passed over counting as one. Anyone may send unknown
 * names: a search stays at about 0.2 ms among 10,000 names that all resemble the one asked for, and gives up
 * on the last of them.
 */
const stepBudget = 20_000;

/**
 * The registered name nearest to `name`, undefined when none is near: one edit in up to four characters,
 * two in up to eight, three in longer ones; a swap of neighbours is one edit.
 *
 * @param shared what the searches of one request may take together; this one takes its part from it
 */
export function suggest(
  name: string,
  names: Iterable<string>,
  shared: { left: number } = { left: stepBudget },
): string | undefined {
  if (name.length === 0 || name.length > longestName || shared.left <= 0) return undefined;
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
    // A one-letter name would be "near" to every other one: at least half of the letters must agree.
    if (distance <= limit && distance * 2 <= Math.max(name.length, candidate.length)) {
      nearest = candidate;
      if (distance <= 1) break;
      limit = distance - 1;
    }
  }
  shared.left -= spent;
  return nearest;
}

interface Distance {
  /** More than the limit: not measured further. */
  readonly distance: number;
  readonly steps: number;
}

/** Three rows of the table, kept between searches: a search never waits, so that no two overlap. */
const rows = Array.from({ length: 3 }, () => new Uint16Array(2 * longestName));

/** Optimal string alignment distance within a diagonal band, given up as soon as it must exceed `limit`. */
function boundedDistance(a: string, b: string, limit: number): Distance {
  const beyond = limit + 1;
  let aEnd = a.length;
  let bEnd = b.length;
  // What both have in common at either end changes nothing.
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
    // The cells beside the band stand for all that lies outside it.
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
