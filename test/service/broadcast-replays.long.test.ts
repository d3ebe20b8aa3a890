import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EditedModule } from '../faults/edited-module.ts';

const groups = { heavy: { workers: 1, spareWorkers: 0 } };
const threads = ['here', 'worker', 'heavy'] as const;

/** Each thread's copy of the module tells what it has run. `note` takes a moment: no call may come before its end. */
const noting = `
const ran = [];
export const broadcasts = {
  async note(params) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (params === 'bad') throw new Error('a bad config');
    ran.push(params);
  },
};
router.rpc({ name: 'here.ran', placement: 'inline' }, () => ran);
router.rpc({ name: 'worker.ran', placement: 'worker' }, () => ran);
router.rpc({ name: 'heavy.ran', group: 'heavy' }, () => ran);
router.rpc({ name: 'worker.die', placement: 'worker' }, () => process.reallyExit(1));
router.rpc({ name: 'heavy.die', group: 'heavy' }, () => process.reallyExit(1));
`;

async function start(t: TestContext, code = noting): Promise<EditedModule> {
  const served = new EditedModule(t, { groups }, code);
  await served.dispatcher.ready();
  return served;
}

async function resultOf({ dispatcher }: EditedModule, method: string): Promise<unknown> {
  const reply = (await dispatcher.dispatch({ id: 1, method })) as { result?: unknown };
  return reply.result;
}

/** What the copies of the module have run: on the main thread, in the worker, in that of the group. */
function ran(served: EditedModule): Promise<unknown[]> {
  return Promise.all(threads.map((thread) => resultOf(served, `${thread}.ran`)));
}

test("replay: 'last' gives threads that start later the last params, before their first call", async (t) => {
  const served = await start(t);
  const { dispatcher } = served;
  await dispatcher.broadcast('note', 1, { replay: 'last' });
  await dispatcher.broadcast('note', 2, { replay: 'last' });
  await resultOf(served, 'worker.die');
  assert.deepEqual(await ran(served), [[1, 2], [2], [1, 2]]);

  // Of a group, the last params are those of the last call that reached it.
  await dispatcher.broadcast('note', 3, { replay: 'last', group: 'heavy' });
  await Promise.all(['worker.die', 'heavy.die'].map((method) => resultOf(served, method)));
  assert.deepEqual(await ran(served), [[1, 2], [2], [3]]);
  served.edit(2, noting);
  assert.equal(await dispatcher.reload(), true);
  assert.deepEqual(await ran(served), [[2], [2], [3]]);
  await dispatcher.broadcast('note', 4, { replay: 'last' });
  served.edit(3, noting);
  await dispatcher.reload();
  assert.deepEqual(await ran(served), [[4], [4], [4]]);

  // A call without it ends it: nothing old must come back.
  await dispatcher.broadcast('note', 5);
  await Promise.all(['worker.die', 'heavy.die'].map((method) => resultOf(served, method)));
  assert.deepEqual(await ran(served), [[4, 5], [], []]);
});

test('what is replayed is dropped when a reload brings modules without the broadcast', async (t) => {
  const served = await start(t);
  const { dispatcher } = served;
  await dispatcher.broadcast('note', 1, { replay: 'last' });
  served.edit(2, noting.replace('async note(', 'async other('));
  await dispatcher.reload();
  assert.deepEqual(await ran(served), [[], [], []]);
  await assert.rejects(dispatcher.broadcast('note'), /broadcasts\.note: there are other$/);
  served.edit(3, noting);
  await dispatcher.reload();
  assert.deepEqual(await ran(served), [[], [], []]);
});

test('a thread starts although what is replayed fails there, and the log says so', async (t) => {
  const served = await start(t);
  const { dispatcher, lines } = served;
  const results = await dispatcher.broadcast('note', 'bad', { replay: 'last' });
  assert.ok(results.every((result) => !result.ok && result.error === 'a bad config'));
  const failed = () => lines.filter(({ fields }) => fields.event === 'broadcast-failed');
  assert.equal(failed().length, 3);
  await resultOf(served, 'heavy.die');
  assert.deepEqual(await ran(served), [[], [], []]);
  assert.equal(failed().length, 4);
  assert.equal(failed().at(-1)?.fields.group, 'heavy');
  served.edit(2, noting);
  assert.equal(await dispatcher.reload(), true);
  assert.equal(failed().length, 7);
});
