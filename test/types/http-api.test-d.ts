/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */
import { Type } from '@sinclair/typebox';
import type { CacheOptions } from '../../src/index.ts';
import { procedure, Router, RpcApp } from '../../src/index.ts';

const errors = {
  Taken: { code: 4009, message: 'Taken', data: Type.Object({ by: Type.String() }), status: 409 },
} as const;

// A status changes nothing of what a handler throws.
procedure({ errors }, (_params, context) => {
  // @ts-expect-error by is a string
  context.errors.Taken({ by: 1 });
  throw context.errors.Taken({ by: 'x' });
});

// @ts-expect-error a status is a number
procedure({ errors: { A: { code: 1, message: 'A', status: '409' } } }, () => 1);

const router = new Router();
const cache: CacheOptions = { maxAgeSeconds: 60, scope: 'public', staleSeconds: 5 };
router.rpc({ name: 'a', effects: { readOnly: true }, cache }, () => 1);
router.rpc({ name: 'b', httpApi: false }, () => 1);
// @ts-expect-error it is false, or left out
router.rpc({ name: 'c', httpApi: true }, () => 1);
// @ts-expect-error how long is not said
router.rpc({ name: 'd', cache: { scope: 'private' } }, () => 1);
// @ts-expect-error no such scope
router.rpc({ name: 'e', cache: { maxAgeSeconds: 1, scope: 'shared' } }, () => 1);

new RpcApp({ router, httpPath: '/api', httpProcedures: 'math.*', httpAuth: 'header:X-Api-Key' });
new RpcApp({ router, httpProcedures: ['math.*', 'a'], publicUrl: 'https://example.org/v1' });
// @ts-expect-error a path is a text
new RpcApp({ router, httpPath: 1 });
