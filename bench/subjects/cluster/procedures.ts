import { Router } from '../../../src/index.ts';
import { add, addParams } from '../work.ts';

/** Calls of `work` that run at the same time, and how long each takes, milliseconds: a machine has only so many hands. */
const hands = 16;
const slowness = Number(process.argv[4] ?? '1');
const workMs = 20 * slowness;

const router = new Router();
export default router;

router.rpc({ name: 'add', params: addParams, placement: 'inline' }, add);

const waiting: (() => void)[] = [];
let busy = 0;

/** Waits for a hand, then takes its time: on both machines of a benchmark a core would be the same one. */
router.rpc({ name: 'work', placement: 'inline' }, async () => {
  if (busy === hands) await new Promise<void>((resolve) => waiting.push(resolve));
  else busy++;
  await new Promise((resolve) => setTimeout(resolve, workMs));
  const next = waiting.shift();
  if (next === undefined) busy--;
  else next();
  return slowness;
});
