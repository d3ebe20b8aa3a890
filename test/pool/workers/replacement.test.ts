import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pool } from '../../../src/core/workers/pool.ts';
import type { PoolWorker } from '../../../src/core/workers/worker.ts';
import { pool } from '../../dispatch/executors/subjects.ts';
import { until } from '../../turns.ts';

test('a worker that fails to load twice, before its thread has gone, is replaced once', async () => {
  const opened = await pool.open({
    observer: { timing: 'none', onCall: () => {}, onRefused: () => {} },
    maxReplyBytes: 1024,
    onFault: () => {},
  });
  const { workers } = opened.executor as Pool; // as this subject opens it
  workers.onBroken(workers.all[0] as PoolWorker, 'to have it replaced');
  const [replacement] = workers.loading;
  assert.ok(replacement !== undefined);
  // What it has loaded is other code, and a look at the files sees that too.
  for (const fault of ['files', 'look']) workers.onLoadFailed(replacement, new Error(fault));
  assert.equal(workers.loading.length, 2); // itself, and the one that replaces it
  await until(() => workers.active.length === 1 && workers.loading.length === 0);
  await opened.close(0);
});
