import { Router, Type } from '../../src/index.ts';
import { add, addParams } from './work.ts';

/** For a dispatcher without workers. */
const router = new Router();
const options = { params: addParams, returns: Type.Number(), placement: 'inline' } as const;

router.rpc({ name: 'add', ...options }, add);
export default router;
