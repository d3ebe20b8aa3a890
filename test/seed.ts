/**
 * The seed of every property of `npm test`, so that a run can be repeated and a failure comes again.
 * TANDEM_SEED takes another. Only `npm run fuzz` and `npm run soak` draw fresh ones.
 */
export const seed = Number(process.env.TANDEM_SEED ?? 20_240_607);
