import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fixture } from '../files.ts';
import { startApp } from '../harness.ts';
import { isSettled } from '../service/running.ts';
import { until } from '../turns.ts';

/** Groups of workers as a caller sees them. */

interface Answer {
  readonly id: number | string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

async function start(t: TestContext) {
  const { app, url } = await startApp(t, {
    modules: [fixture('service/groups.ts')],
    groups: { heavy: { workers: 2, spareWorkers: 0 } },
    shutdownGraceMs: 0,
  });
  const ask = async <T = Answer>(body: unknown): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as T;
  };
  return { app, ask };
}

test('a group that is full of calls that never end keeps nobody else waiting', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-groups-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'journal');
  writeFileSync(file, '');
  const { app, ask } = await start(t);
  const endless = Array.from({ length: 12 }, (_, id) =>
    ask({ id, method: 'heavy.block', params: { file, text: 'block' } }),
  );
  const { dispatcher } = app;
  await until(() => readFileSync(file, 'utf8').split('\n').length === 3);
  await until(() => dispatcher.stats().groups.heavy?.queued === 10);
  const waiting = ask({ id: 'one more', method: 'heavy.thread' });
  for (let id = 0; id < 20; id++) {
    for (const method of ['thread', 'waits', 'here']) {
      const { result } = await ask({ id, method });
      assert.equal(typeof result, 'number', method);
    }
  }
  // The group is full, and its part of a batch alone waits; the part before it has run.
  const batch = ask<Answer[]>([
    { id: 'a', method: 'note', params: { file, text: 'before' } },
    { id: 'b', method: 'heavy.thread' },
  ]);
  await until(() => dispatcher.stats().groups.heavy?.queued === 12);
  assert.match(readFileSync(file, 'utf8'), /^before$/m);
  for (const call of [...endless, waiting, batch]) assert.equal(await isSettled(call), false);
  assert.equal(dispatcher.stats().pool?.queued, 0);
  await app.close();
  const codes = (await Promise.all(endless)).map(({ error }) => error?.code);
  assert.deepEqual(
    codes.toSorted((a = 0, b = 0) => b - a),
    [...Array(2).fill(-32002), ...Array(10).fill(-32003)],
  );
  assert.equal((await waiting).error?.code, -32003);
  assert.deepEqual(
    (await batch).map(({ id, error }) => [id, error?.code]),
    [
      ['a', undefined],
      ['b', -32003],
    ],
  );
});
