import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { getProcedureSchema, Router, type StreamOptions } from '../../../src/index.ts';
import { discover } from './discover.ts';

const serving = (name: string, yields?: TSchema, stream?: StreamOptions): Router => {
  const router = new Router();
  router.rpc({ name, yields, stream, returns: Type.String() } as object, function* () {
    yield 1;
    return 'end';
  });
  return router;
};
const schemaOf = (router: Router, name: string) => getProcedureSchema(router.get(name)!);

describe('the documents of a stream', () => {
  test('have what it yields, and the names by which its subscriptions speak', async () => {
    const router = serving('eth_subscribe', Type.Array(Type.Number()));
    const yields = { type: 'array', items: { type: 'number' } };
    const stream = {
      notification: 'eth_subscription',
      unsubscribe: 'eth_unsubscribe',
      collect: false,
    };
    const schema = schemaOf(router, 'eth_subscribe');
    assert.deepEqual(
      [schema.yield_type, schema.yield_schema, schema.stream, schema.return_type],
      ['number[]', yields, stream, 'string'],
    );
    const { methods } = await discover(router);
    const [method] = methods;
    assert.deepEqual(method?.['x-stream'], { yields, ...stream });
    assert.deepEqual(method?.result.schema, { type: 'string' });
  });

  test('say of values that nothing declares that they may be anything', () => {
    const router = serving('ticks', undefined, { collect: true });
    const schema = schemaOf(router, 'ticks');
    assert.deepEqual(
      [schema.yield_type, schema.yield_schema, schema.stream],
      ['unknown', {}, { notification: 'ticks', collect: true }],
    );
  });

  test('are those of any procedure without a stream', async () => {
    const router = new Router();
    router.rpc({ name: 'plain' }, () => 1);
    const schema = schemaOf(router, 'plain');
    assert.ok(!('yield_type' in schema || 'yield_schema' in schema || 'stream' in schema));
    assert.ok(!('x-stream' in ((await discover(router)).methods[0] ?? {})));
  });

  test('share types with those of other procedures', async () => {
    const router = new Router();
    const User = Type.Object({ id: Type.String() }, { $id: 'User' });
    router.rpc({ name: 'users.watch', yields: User }, function* () {
      yield { id: 'x' };
    });
    const document = await discover(router);
    assert.deepEqual(document.methods[0]?.['x-stream']?.yields, {
      $ref: '#/components/schemas/User',
    });
  });
});
