/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */

import type { ContractOf } from '../../src/client/index.ts';
import {
  type BatchContext,
  type BatchHandler,
  type CallContext,
  inOrder,
  procedure,
  Router,
  type RpcError,
  Type,
} from '../../src/index.ts';
import { same } from './same.ts';

interface State {
  users(ids: readonly number[]): Promise<{ id: number; name: string }[]>;
}
const router = new Router<{ auth: { user: string }; state: State }>();
const Id = Type.Object({ id: Type.Integer() });
const User = Type.Object({ id: Type.Integer(), name: Type.String() });
const errors = { Gone: { code: 410, message: 'Gone', data: Type.Object({ id: Type.Integer() }) } };

// The handler takes an array of params, and the context of the batch.
router.rpc(
  { name: 'users.get', params: Id, returns: User, errors, batch: { max: 64, parallel: 2 } },
  async (params, { calls, signal, deadline, state, errors, log }) => {
    same<typeof params, readonly { id: number }[]>(true);
    same<(typeof calls)[number]['auth'], { user: string }>(true);
    same<typeof signal, AbortSignal>(true);
    same<typeof deadline, number>(true);
    same<typeof state, State>(true);
    log.info({}, 'users');
    const ids = params.map(({ id }) => id);
    const rows = await state.users(ids);
    return inOrder(
      ids,
      rows,
      ({ id }) => id,
      (id) => errors.Gone({ id }),
    );
  },
);
router.rpc({ name: 'sync', returns: Type.Number(), batch: { max: 2 } }, (params) =>
  params.map(() => 1),
);
// An error may stand in each place.
router.rpc({ name: 'errors', returns: Type.Number(), batch: { max: 2 } }, (params) =>
  params.map((_, i) => (i === 0 ? new Error('no') : 1)),
);
// What middleware has added is in the context of each call.
new Router()
  .use((_context, next) => next({ tenant: 'a' }))
  .rpc({ name: 'tenants', batch: { max: 2 } }, (params, { calls }) => {
    same<(typeof calls)[number]['tenant'], string>(true);
    return params.map((_, i) => calls[i]?.tenant);
  });

// @ts-expect-error an array of results, not one
router.rpc({ name: 'one', returns: Type.Number(), batch: { max: 2 } }, () => 1);
const texts = (params: readonly unknown[]) => params.map(() => '');
// @ts-expect-error each is a number
router.rpc({ name: 'text', returns: Type.Number(), batch: { max: 2 } }, texts);
// @ts-expect-error params is an array
router.rpc({ name: 'single', params: Id, batch: { max: 2 } }, ({ id }) => [id]);
// @ts-expect-error no stream takes many calls
router.rpc({ name: 'yields', yields: Type.Number(), batch: { max: 2 } }, () => []);
// @ts-expect-error nor one that is marked
router.rpc({ name: 'stream', stream: true, batch: { max: 2 } }, () => []);
// @ts-expect-error runs are bounded by parallel
router.rpc({ name: 'bound', maxConcurrency: 1, batch: { max: 2 } }, () => []);
// @ts-expect-error max is missing
router.rpc({ name: 'max', batch: {} }, () => []);

// Callers see an ordinary procedure.
const made = procedure({ params: Id, returns: User, batch: { max: 8 } }, (params) =>
  params.map(({ id }) => ({ id, name: '' })),
);
const bare = procedure({ params: Id, batch: { max: 8 } }, (params) =>
  params.map(({ id }) => (id > 0 ? { id } : new Error('no'))),
);
const tree = Router.from({ made, bare });
type Contract = ContractOf<typeof tree>;
same<Contract['made']['params'], { id: number }>(true);
same<Contract['made']['result'], { id: number; name: string }>(true);
same<Contract['bare']['result'], { id: number }>(true);

const one: BatchHandler<{ id: number }, number> = (params) => params.map(({ id }) => id);
router.rpc({ name: 'apart', params: Id, batch: { max: 2 } }, one);
declare const batch: BatchContext;
same<(typeof batch.calls)[number], CallContext>(true);

class Users {
  @router.rpc({ name: 'decorated', params: Id, returns: Type.Number(), batch: { max: 4 } })
  sizes(params: readonly { id: number }[], { calls }: BatchContext): number[] {
    return params.map(() => calls.length);
  }

  // @ts-expect-error a method that takes one call
  @router.rpc({ name: 'wrong', params: Id, returns: Type.Number(), batch: { max: 4 } })
  size({ id }: { id: number }): number {
    return id;
  }
}
void Users;

const missing: (number | RpcError | Error)[] = inOrder(
  ['a'],
  [1],
  (row) => String(row),
  () => new Error('missing'),
);
void missing;
