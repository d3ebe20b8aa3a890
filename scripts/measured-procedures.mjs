// The smallest calls, one for each place. measure-base.ts copies this file into the checkout that it measures.
import { Router } from 'tandem-rpc';

const router = new Router();
const add = ({ a, b }) => a + b;
router.rpc({ name: 'inline', placement: 'inline' }, add);
router.rpc({ name: 'pooled', placement: 'worker' }, add);
export default router;
