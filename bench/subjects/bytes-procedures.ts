import { Router, Type } from '../../src/index.ts';
import { add, addParams } from './work.ts';

const router = new Router();
const effects = { readOnly: true };

router.rpc(
  { name: 'add', params: addParams, returns: Type.Number(), placement: 'inline', effects },
  add,
);
router.rpc(
  { name: 'size', params: { data: Type.Base64() }, returns: Type.Integer(), placement: 'worker' },
  ({ data }) => data.length,
);
router.rpc(
  {
    name: 'zeros',
    params: { size: Type.Integer() },
    returns: Type.Base64(),
    placement: 'worker',
    effects,
  },
  ({ size }) => new Uint8Array(size),
);
export default router;
