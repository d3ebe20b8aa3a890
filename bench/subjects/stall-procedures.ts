import { Router, Type } from '../../src/index.ts';
import { procedureName, procedures, wide } from './stall-bodies.ts';

const router = new Router();
const values = { values: Type.Array(Type.Unknown()) };

/** Reads none of its params: only the way to the procedure is measured. */
function count(params: { values?: unknown[] }): number {
  return params.values?.length ?? 0;
}

router.rpc({ name: 'inline', params: Type.Object(values), placement: 'inline' }, count);
router.rpc({ name: 'pooled', params: Type.Object(values), placement: 'worker' }, count);
router.rpc(
  {
    name: 'wide',
    params: Type.Object(
      Object.fromEntries(wide.map((name) => [name, Type.Optional(Type.Number())])),
    ),
    placement: 'inline',
  },
  () => null,
);
router.rpc({ name: 'long', placement: 'inline' }, () => 'x'.repeat(10_000));
router.rpc({ name: 'wait', placement: 'inline', async: true }, (_params, { signal }) => {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
});
for (let n = 0; n < procedures; n++) {
  router.rpc({ name: procedureName(n), placement: 'inline' }, () => null);
}

export default router;
