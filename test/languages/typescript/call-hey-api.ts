/** The functions of @hey-api/openapi-ts. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { client } from './hey-api/client.gen.ts';
import * as api from './hey-api/sdk.gen.ts';
import type { Taken } from './hey-api/types.gen.ts';
import { createApp, echoAll } from './service.ts';

describe('@hey-api/openapi-ts', () => {
  const app = createApp();

  before(async () => {
    client.setConfig({ baseUrl: `http://127.0.0.1:${(await app.listen()).port}` });
  });
  after(() => app.close());

  test('sends params in a query, arrays too', async () => {
    const query = { text: 'a', size: 3, tags: ['b,c', 'd'] };
    const { data, error } = await api.queryFlat({ query });
    assert.equal(error, undefined);
    assert.deepEqual(data satisfies string[] | undefined, ['a', 'b,c', 'd']);
  });

  test('gives a declared error by its name', async () => {
    const { error } = await api.save({ body: { name: 'taken' } });
    const taken = error as Taken;
    assert.equal(taken.name satisfies 'Taken', 'Taken');
    assert.equal(taken.data.by, 'ann');
    const saved = await api.save({ body: { name: 'ann' } });
    assert.equal(saved.response?.status, 204);
  });

  test('gives any other error as a problem', async () => {
    const { error } = await api.save({ body: { name: 5 as never } });
    assert.equal(error?.code, -32602);
  });

  test('sends bytes and reads bytes', async () => {
    const put = await api.bytesPut({ body: new Blob([new Uint8Array([1, 2])]), query: { id: 7 } });
    assert.equal(put.data satisfies number | undefined, 9);
    const { data } = await api.bytesPng({ query: { id: 7 } });
    assert.ok(data instanceof Blob);
    assert.equal(data.type, 'image/png');
    assert.deepEqual(new Uint8Array(await data.arrayBuffer()), new Uint8Array([7]));
  });

  test('reads a stream; its result and its errors come as values, told by the name of the event', async () => {
    const read = async (n: number) => {
      let name: string | undefined;
      const values: unknown[] = [];
      const { stream } = await api.streamTicks({
        query: { n },
        onSseEvent: ({ event }) => {
          name = event;
        },
        sseMaxRetryAttempts: 1,
      });
      for await (const value of stream) values.push([name, value]);
      return values;
    };
    assert.deepEqual(await read(2), [
      [undefined, { kind: 'cat', lives: 0 }],
      [undefined, { kind: 'cat', lives: 1 }],
      ['result', 'end'],
    ]);
    const [name, problem] = (await read(10)).at(-1) as [string, { code: number }];
    assert.deepEqual([name, problem.code], ['error', 4011]);
  });

  test('carries the values of every shape', () =>
    echoAll(api, async (send, body) => {
      const { data, error } = (await send({ body } as never)) as { data: unknown; error: unknown };
      assert.equal(error, undefined);
      return data;
    }));

  test('types unions by their tag, tuples and members that may be null', async () => {
    const { data: pet } = await api.shapesPets({ body: { value: { kind: 'cat', lives: 7 } } });
    assert.ok(pet);
    assert.equal(pet.kind === 'cat' ? pet.lives : pet.good, 7);
    const tuple = await api.shapesTuple({ body: { value: [1, 'a'] } });
    assert.equal(tuple.data?.[1] satisfies string | undefined, 'a');
    // @ts-expect-error a text is no number
    assert.equal((await api.shapesTuple({ body: { value: [1, 2] } })).response?.status, 400);
    const none = await api.shapesNullable({ body: { value: null } });
    assert.equal(none.data satisfies string | null | undefined, null);
  });
});
