/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { Type } from '@sinclair/typebox';
import { z } from 'zod';
import type { ContractOf } from '../../src/client/index.ts';
import { type CallContext, procedure, Router, type RpcError } from '../../src/index.ts';
import { same } from './same.ts';

const errors = {
  NotFound: { code: 404, message: 'No such user', data: Type.Object({ id: Type.String() }) },
  Closed: { code: 1, message: 'Closed' },
} as const;

// The handler makes the errors it declares, with their data.
const get = procedure({ errors }, (_params, context) => {
  same<Parameters<typeof context.errors.NotFound>, [data: { id: string }]>(true);
  same<Parameters<typeof context.errors.Closed>, []>(true);
  same<ReturnType<typeof context.errors.Closed>, RpcError>(true);
  // @ts-expect-error id is a string
  context.errors.NotFound({ id: 1 });
  // @ts-expect-error it has data
  context.errors.NotFound();
  // @ts-expect-error it has none
  context.errors.Closed({ id: '1' });
  // @ts-expect-error not declared
  context.errors.Open();
  throw context.errors.NotFound({ id: '1' });
});

// Codes keep their literal types where they are written in place too.
const inPlace = procedure(
  { errors: { Busy: { code: 7, message: 'Busy', data: Type.Number() } } },
  (_params, { errors: { Busy } }) => {
    throw Busy(1);
  },
);

// Data of another library's schema has its type at both ends.
const byZod = procedure(
  { errors: { Late: { code: 8, message: 'Late', data: z.object({ by: z.int() }) } } },
  (_params, { errors: { Late } }) => {
    // @ts-expect-error by is a number
    Late({ by: '1' });
    throw Late({ by: 1 });
  },
);
const zodRouter = Router.from({ byZod });
same<
  ContractOf<typeof zodRouter>['byZod']['errors'],
  { readonly Late: { readonly code: 8; readonly data: { by: number } } }
>(true);

// Without declared errors there are none to make.
procedure({}, (_params, context) => {
  same<typeof context, CallContext>(true);
  // @ts-expect-error not declared
  context.errors.NotFound();
});
procedure({ errors }, (_params, { state }: CallContext<{ db: 1 }>) => state.db);

// The same through rpc, as a function and as a decorator.
const router = new Router();
router.rpc({ name: 'a', errors }, (_params, context) => {
  throw context.errors.NotFound({ id: '1' });
});
class Decorated {
  @router.rpc({ errors }) one(_params: object, context: CallContext<unknown, typeof errors>): void {
    throw context.errors.Closed();
  }
  // @ts-expect-error bare, it declares none
  @router.rpc two(_params: object, context: CallContext<unknown, typeof errors>): void {
    throw context.errors.Closed();
  }
}
void Decorated;

// @ts-expect-error code is missing
procedure({ errors: { A: { message: 'x' } } }, () => 1);
// @ts-expect-error data is a TypeBox schema
procedure({ errors: { A: { code: 1, message: 'x', data: { type: 'string' } } } }, () => 1);

// The contract has their codes and data.
const served = Router.from({ users: { get }, inPlace });
type Served = ContractOf<typeof served>;
same<
  Served['users.get']['errors'],
  {
    readonly NotFound: { readonly code: 404; readonly data: { id: string } };
    readonly Closed: { readonly code: 1 };
  }
>(true);
same<Served['inPlace']['errors']['Busy'], { readonly code: 7; readonly data: number }>(true);
