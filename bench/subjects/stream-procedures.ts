import { Router, Type } from '../../src/index.ts';

const router = new Router();

const number = Type.Number();

/** Values without end, each as small as the result of a small call. */
router.rpc({ name: 'numbers', yields: number }, function* () {
  for (let i = 0; ; i++) yield i;
});

/** Waits, with credit, until nobody reads any more. */
router.rpc(
  { name: 'idle', yields: number, placement: 'worker' },
  async function* (_params, context) {
    yield 0;
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  },
);

/** Each of its values takes a tenth of a millisecond. */
router.rpc({ name: 'busy', yields: number }, function* () {
  for (let i = 0; ; i++) {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    yield i;
  }
});

router.rpc({ name: 'light', returns: number, placement: 'worker' }, () => 1);

export default router;
