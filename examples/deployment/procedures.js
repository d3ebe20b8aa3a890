import { Router, Type } from 'tandem-rpc';

const router = new Router();
export default router;

router.rpc(
  { name: 'math.add', params: { a: Type.Number(), b: Type.Number() } },
  ({ a, b }) => a + b,
);
