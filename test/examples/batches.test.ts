/** examples/batches, as its README tells: many calls at once, each of which gets its own answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLayer, multiply } from '../../examples/batches/layer.ts';
import { moduleUrl } from '../files.ts';
import { TestService } from '../harness.ts';

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

const { dispatcher } = TestService.suite({
  modules: [moduleUrl('examples/batches/procedures.ts')],
});

/** Calls that come at the same time. */
async function all(method: string, some: readonly object[]): Promise<readonly Reply[]> {
  const calls = some.map((params, id) => dispatcher.dispatch({ method, params, id }));
  return (await Promise.all(calls)) as Reply[];
}

test('rows of one query go to the calls that asked for them', async () => {
  const ids = Array.from({ length: 50 }, (_, i) => ((i * 37) % 60) + 1);
  const replies = await all(
    'users.get',
    ids.map((id) => ({ id })),
  );
  for (const [i, { result, error }] of replies.entries()) {
    const id = ids[i] ?? 0;
    if (id % 10 === 0) assert.equal(error?.code, 410);
    else assert.deepEqual(result, { id, name: `user ${id}` });
  }
  const [{ result: queries } = {}] = await all('users.queries', [{}]);
  assert.equal(queries, 1);
});

test('outputs of one pass over the weights are those of their inputs', async () => {
  const inputs = Array.from({ length: 20 }, (_, n) =>
    Array.from({ length: 64 }, (_unused, i) => (n * 7 + i) % 5),
  );
  const replies = await all(
    'model.score',
    inputs.map((input) => ({ input })),
  );
  const layer = createLayer(64);
  assert.deepEqual(
    replies.map(({ result }) => result),
    inputs.map((input) => multiply(layer, [input])[0]),
  );
});

test('equal params run once', async () => {
  const days = ['monday', 'tuesday', 'monday', 'monday'];
  const replies = await all(
    'reports.of',
    days.map((day) => ({ day })),
  );
  assert.deepEqual(
    replies.map(({ result }) => result),
    [
      { day: 'monday', made: 1 },
      { day: 'tuesday', made: 2 },
      { day: 'monday', made: 1 },
      { day: 'monday', made: 1 },
    ],
  );
});
