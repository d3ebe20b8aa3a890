import { Router, Type } from 'tandem-rpc';

const params = Type.Object({ a: Type.Number(), b: Type.Number() });
const router = new Router();
router.rpc({ name: 'add', params, returns: Type.Number() }, ({ a, b }) => a + b);
router.rpc({ name: 'now', returns: Type.Number() }, async () => Date.now());
export default router;
