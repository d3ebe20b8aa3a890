import { Router, Type } from '../../src/index.ts';
import { burn, burnParams } from './work.ts';

/** The same work under several names: what Tandem learns of one procedure says nothing of another. */
const router = new Router();
const options = { params: burnParams, returns: Type.Number() };

for (const name of ['short', 'medium', 'heavy', 'polite', 'greedy', 'either'])
  router.rpc({ name, ...options }, burn);

router.rpc({ name: 'inlineLight', ...options, placement: 'inline' }, burn);

/** A stream that computes between its values, until its reader leaves. */
router.rpc(
  { name: 'burning', params: burnParams, yields: Type.Number(), placement: 'worker' },
  function* burning(params) {
    for (;;) yield burn(params);
  },
);

/** An asynchronous procedure that burns CPU before its first await, as people write them by mistake. */
router.rpc({ name: 'burner', ...options }, async (params) => burn(params));

export default router;
