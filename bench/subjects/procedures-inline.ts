import { Router, Type } from '../../src/index.ts';
import { add, addParams, burn, burnParams } from './work.ts';

/** All procedures run on the thread that accepts the calls. */
const router = new Router();
const options = { returns: Type.Number(), placement: 'inline' } as const;

router.rpc({ name: 'add', params: addParams, ...options }, add);
router.rpc({ name: 'burn', params: burnParams, ...options }, burn);
export default router;
