import { Router, Type } from '../../src/index.ts';
import { add, addParams } from './work.ts';

const router = new Router();
const options = { params: Type.Object({ values: Type.Array(Type.Number()) }) };

/** Reads none of its params: only the way to the procedure is measured. */
function count({ values }: { values: number[] }): number {
  return values.length;
}

router.rpc({ name: 'add', params: addParams, placement: 'inline' }, add);
router.rpc({ name: 'count', ...options, placement: 'inline' }, count);
router.rpc({ name: 'pooledCount', ...options, placement: 'worker' }, count);

export default router;
