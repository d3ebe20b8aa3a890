import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { EditedModule } from '../faults/edited-module.ts';
import { until } from '../turns.ts';

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

test('a broadcast while a reload runs reaches the threads that exist, the new ones after their setup', async (t) => {
  const served = await start(t);
  const { dispatcher } = served;
  const waiting = `${noting}
export async function setup({ isMainThread }) {
  if (isMainThread) {
    writeFileSync(here('begun'), '');
    while (!existsSync(here('go'))) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  ran.push('set up');
}`;
  await dispatcher.broadcast('note', 'before', { replay: 'last' });
  served.edit(2, waiting);
  const reloaded = dispatcher.reload();
  await until(() => existsSync(served.file('begun')));
  const results = await dispatcher.broadcast('note', 'meanwhile');
  // The answer is of the threads that serve.
  assert.deepEqual(
    results.map(({ place, ok }) => [place, ok]),
    [
      ['inline', true],
      ['worker', true],
      ['worker:heavy', true],
    ],
  );
  assert.deepEqual(await ran(served), Array(3).fill(['before', 'meanwhile']));
  served.folder.write('go', '');
  assert.equal(await reloaded, true);
  // The worker of the group started later.
  assert.deepEqual(await ran(served), [
    ['set up', 'before', 'meanwhile'],
    ['set up', 'before', 'meanwhile'],
    ['set up'],
  ]);
});

test('a reload keeps the old threads until they have answered a broadcast', async (t) => {
  const served = await start(
    t,
    noting.replace('await new', "while (!existsSync(here('go'))) await new"),
  );
  const { dispatcher } = served;
  const pending = dispatcher.broadcast('note', 1);
  served.edit(2, noting);
  assert.equal(await dispatcher.reload(), true);
  served.folder.write('go', '');
  assert.deepEqual(
    (await pending).map(({ ok }) => ok),
    [true, true, true],
  );
});
