import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../files.ts';
import { isSettled, Running, resultOf } from './running.ts';

test('a worker ends its calls before it writes its heap, and one worker writes at a time', async (t) => {
  const heapDir = temporaryFolder(t);
  const running = await Running.start(t, { workers: 2, heapDir });
  const { dispatcher } = running;
  const held = running.call('hold', 'held');
  const thread = await running.begunOn('held');
  const { worker } = (await dispatcher.stacks()).find(({ threadId }) => threadId === thread) ?? {};
  const written = dispatcher.heapSnapshot({ worker });
  await assert.rejects(
    dispatcher.heapSnapshot(),
    /^Error: another snapshot is being written: wait for its end$/,
  );
  // The other worker answers meanwhile.
  for (let i = 0; i < 20; i++) await running.ask({ method: 'out.thread', id: i });
  assert.equal(await isSettled(written), false);
  running.release();
  assert.equal(resultOf(await held), 'held');
  const { path, bytes } = await written;
  assert.ok(bytes > 1_000_000);
  assert.deepEqual(
    readdirSync(heapDir).map((name) => join(heapDir, name)),
    [path],
  );
});

test('a snapshot of a service that closes is no file', async (t) => {
  const heapDir = temporaryFolder(t);
  const running = await Running.start(t, { workers: 2, heapDir });
  const held = running.call('hold', 'held');
  const thread = await running.begunOn('held');
  const { worker } =
    (await running.dispatcher.stacks()).find(({ threadId }) => threadId === thread) ?? {};
  const written = running.dispatcher.heapSnapshot({ worker });
  const refused = assert.rejects(written, /^Error: the worker ended before it had written it$/);
  await running.dispatcher.close(0);
  await refused;
  await held;
  assert.deepEqual(readdirSync(heapDir), []);
});
