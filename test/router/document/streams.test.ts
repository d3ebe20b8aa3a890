import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { fingerprint } from '../../../src/core/procedures/document/introspect.ts';
import { openRpcOf } from '../../../src/core/procedures/document/openrpc.ts';
import { tableOf } from '../../../src/core/procedures/router.ts';
import { getProcedureSchema, Router, type StreamOptions } from '../../../src/index.ts';

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
  test('have what it yields, and the names by which its subscriptions speak', () => {
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
    const [method] = openRpcOf(tableOf(router)).methods;
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

  test('are those of any procedure where there is no stream', () => {
    const router = new Router();
    router.rpc({ name: 'plain' }, () => 1);
    const schema = schemaOf(router, 'plain');
    assert.ok(!('yield_type' in schema || 'yield_schema' in schema || 'stream' in schema));
    assert.ok(!('x-stream' in (openRpcOf(tableOf(router)).methods[0] ?? {})));
  });

  test('share types with those of other procedures', () => {
    const router = new Router();
    const User = Type.Object({ id: Type.String() }, { $id: 'User' });
    router.rpc({ name: 'users.watch', yields: User }, function* () {
      yield { id: 'x' };
    });
    const document = openRpcOf(tableOf(router));
    assert.deepEqual(document.methods[0]?.['x-stream']?.yields, {
      $ref: '#/components/schemas/User',
    });
  });

  test('count in the fingerprint, with all that its options say', () => {
    const different = [
      serving('x'),
      serving('x', Type.Number()),
      serving('x', Type.String()),
      serving('x', undefined, { notification: 'y' }),
      serving('x', undefined, { unsubscribe: 'y' }),
      serving('x', undefined, { collect: true }),
      serving('x', undefined, { drain: 'finish' }),
    ].map(fingerprint);
    assert.equal(new Set(different).size, different.length);
    assert.equal(fingerprint(serving('x', undefined, { drain: 'end' })), different[0]);
  });
});
