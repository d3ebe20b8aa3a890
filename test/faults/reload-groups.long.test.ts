import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSettled } from '../service/running.ts';
import { until } from '../turns.ts';
import { EditedModule } from './edited-module.ts';

const groups = { heavy: { workers: 1, spareWorkers: 0, workerMemoryMb: 64 } };

/** In the group: it gives its version, or waits for a file first. */
const grouped = `
router.rpc({ name: 'grouped', group: 'heavy' }, () => version);
router.rpc({ name: 'later', group: 'heavy' }, async () => {
  writeFileSync(here('begun'), '');
  while (!existsSync(here('go'))) await new Promise((resolve) => setTimeout(resolve, 1));
  return version;
});`;

async function resultOf(served: EditedModule, method: string): Promise<unknown> {
  const reply = (await served.dispatcher.dispatch({ id: 1, method })) as { result?: unknown };
  return reply.result ?? reply;
}

/** What the group and the others serve. */
async function versions(served: EditedModule): Promise<unknown[]> {
  return [...(await served.versions()), await resultOf(served, 'grouped')];
}

function threadsOf(served: EditedModule): unknown[] {
  const { pool, groups: others } = served.dispatcher.stats();
  return [pool, others.heavy].flatMap((one) => one?.workers.map(({ threadId }) => threadId) ?? []);
}

test('a reload swaps the workers of all groups together, and calls in flight end on the old ones', async (t) => {
  const served = new EditedModule(t, { groups }, grouped);
  await served.dispatcher.ready();
  assert.deepEqual(await versions(served), [1, 1, 1, 1]);
  const old = threadsOf(served);
  const later = resultOf(served, 'later');
  const { existsSync } = await import('node:fs');
  await until(() => existsSync(served.file('begun')));
  served.edit(2, grouped);
  assert.equal(await served.dispatcher.reload(), true);
  assert.deepEqual(await versions(served), [2, 2, 2, 2]);
  const threads = threadsOf(served);
  assert.equal(threads.length, 2);
  assert.ok(threads.every((thread) => !old.includes(thread)));
  assert.equal(await isSettled(later), false);
  served.folder.write('go', '');
  assert.equal(await later, 1);
});

test('a reload whose code a group can not load is refused as a whole', async (t) => {
  const served = new EditedModule(t, { groups }, grouped);
  await served.dispatcher.ready();
  const old = threadsOf(served);
  // More than the workers of the group may have.
  const large = 'globalThis.kept = Array.from({ length: 160 }, () => Array(131072).fill(1.5));';
  served.edit(2, `${large}${grouped}`);
  assert.match(
    (await served.refusal()) ?? '',
    /^tried in a worker of the group heavy: [^\n]*ended/,
  );
  assert.deepEqual(await versions(served), [1, 1, 1, 1]);
  assert.deepEqual(threadsOf(served), old);
});

test('a reload may bring a group into use, and out of it again', async (t) => {
  const served = new EditedModule(t, { groups });
  await served.dispatcher.ready();
  assert.equal(threadsOf(served).length, 1);
  served.edit(2, grouped);
  await served.dispatcher.reload();
  assert.deepEqual(await versions(served), [2, 2, 2, 2]);
  assert.equal(threadsOf(served).length, 2);
  served.edit(3, grouped.replaceAll("'heavy'", "'light'"));
  assert.match(
    (await served.refusal()) ?? '',
    /^procedure grouped is declared group: 'light', which is not configured/,
  );
  assert.deepEqual(await versions(served), [2, 2, 2, 2]);
  served.edit(4);
  await served.dispatcher.reload();
  assert.deepEqual(await served.versions(), [4, 4, 4]);
  await until(() => threadsOf(served).length === 1);
});
