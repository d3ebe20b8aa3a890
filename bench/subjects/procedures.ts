import { Router, Type } from '../../src/index.ts';
import { add, addParams, burn, burnParams } from './work.ts';

const router = new Router();
const result = { returns: Type.Number() };

router.rpc({ name: 'add', params: addParams, ...result, placement: 'inline' }, add);
router.rpc({ name: 'pooledAdd', params: addParams, ...result, placement: 'worker' }, add);
router.rpc({ name: 'burn', params: burnParams, ...result, placement: 'worker' }, burn);

router.rpc(
  {
    name: 'pooledSize',
    params: Type.Object({ text: Type.String() }),
    ...result,
    placement: 'worker',
  },
  ({ text }) => text.length,
);

/** Values without end, large enough that a reader who stands still is soon behind. */
router.rpc({ name: 'blocks', yields: Type.String() }, function* () {
  for (let i = 0; ; i++) yield String(i).padStart(10_000);
});

router.rpc({ name: 'hang', placement: 'worker', timeoutMs: 50 }, () => {
  for (;;);
});

export default router;
