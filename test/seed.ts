/**
 * The seed of every property of `npm test`, so that a run can be repeated and a failure comes again.
 * TANDEM_SEED takes another. Only long tests, `npm run fuzz` and `npm run soak` draw fresh ones.
 */
export const seed = Number(process.env.TANDEM_SEED ?? 20_240_607);

/** How many cases a property gets. TANDEM_CASES multiplies them: test/fresh-properties.long.test.ts has up to ten times as many, with a new seed. */
export function cases(count: number): number {
  return count * Number(process.env.TANDEM_CASES ?? 1);
}
