import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { Compiled, compiledTree } from '../compiled.ts';
import { assertSound, type ReloadReport } from './reload-load.ts';

test('50 reloads under concurrent calls, on node without tsx: memory returns to where it was', async (t) => {
  const compiled = new Compiled(await compiledTree());
  t.after(() => compiled.remove());
  const child = compiled.start('test/fixtures/faults/reload-main.ts', [
    join(compiled.folder, 'modules'),
    '50',
  ]);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
  const report = JSON.parse(text) as ReloadReport;
  t.diagnostic(text.trim());
  assertSound(report);
  assert.equal(report.reloads, 50);
  // A generation that stayed, with its threads, would be 10 MB and more for each reload.
  assert.ok(report.rssAfterMb < report.rssBeforeMb + 60, 'resident memory');
  assert.ok(report.heapPerReloadKb < 200, 'heap of the main thread for each reload');
});
