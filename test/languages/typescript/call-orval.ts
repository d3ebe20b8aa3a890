/** The functions of orval, for TanStack Query. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MutationObserver, QueryClient } from '@tanstack/react-query';
import type { Taken } from './orval/api.schemas.ts';
import * as api from './orval/api.ts';
import { ProblemError, setBaseUrl } from './orval-send.ts';
import { createApp, echoAll } from './service.ts';

describe('orval', () => {
  const app = createApp();
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });

  before(async () => setBaseUrl(`http://127.0.0.1:${(await app.listen()).port}`));
  after(async () => {
    queryClient.clear();
    await app.close();
  });

  test('sends params in a query, arrays too', async () => {
    const query = { text: 'a', size: 3, tags: ['b,c', 'd'] };
    const options = api.getQueryFlatQueryOptions(query);
    const rows = await queryClient.fetchQuery(options);
    assert.deepEqual(rows satisfies string[], ['a', 'b,c', 'd']);
    assert.equal(queryClient.getQueryData(options.queryKey), rows);
  });

  test('gives a declared error, with its type, to a mutation', async () => {
    const options = api.getSaveMutationOptions();
    const saving = new MutationObserver(queryClient, options);
    await assert.rejects(saving.mutate({ data: { name: 'taken' } }), ProblemError);
    const { error } = saving.getCurrentResult();
    const taken = error?.problem as Taken;
    assert.equal(taken.name satisfies 'Taken', 'Taken');
    assert.equal(taken.data.by, 'ann');
    assert.equal(await saving.mutate({ data: { name: 'ann' } }), undefined);
  });

  test('gives any other error as a problem', async () => {
    await assert.rejects(api.save({ name: 5 as never }), (error) => {
      assert.ok(error instanceof ProblemError);
      assert.deepEqual([error.status, error.problem.code], [400, -32602]);
      return true;
    });
  });

  test('sends bytes and reads bytes', async () => {
    assert.equal(await api.bytesPut(new Blob([new Uint8Array([1, 2])]), { id: 7 }), 9);
    const png = await queryClient.fetchQuery(api.getBytesPngQueryOptions({ id: 7 }));
    assert.equal(png.type, 'image/png');
    assert.deepEqual(new Uint8Array(await png.arrayBuffer()), new Uint8Array([7]));
  });

  test('carries the values of every shape', () => echoAll(api, (send, body) => send(body)));

  test('types unions by their tag, tuples and members that may be null', async () => {
    const pet = await api.shapesPets({ value: { kind: 'cat', lives: 7 } });
    assert.equal(pet.kind === 'cat' ? pet.lives : pet.good, 7);
    const tuple = await api.shapesTuple({ value: [1, 'a'] });
    assert.equal(tuple[1] satisfies string, 'a');
    // @ts-expect-error a text is no number
    await assert.rejects(api.shapesTuple({ value: [1, 2] }), ProblemError);
    const none = await api.shapesNullable({ value: null });
    assert.equal(none satisfies string | null, null);
  });
});
