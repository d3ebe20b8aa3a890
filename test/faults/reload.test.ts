import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Compiled } from './compiled.ts';
import { type ReloadReport, reloadUnderLoad } from './reload-load.ts';

function assertSound(report: ReloadReport): void {
  assert.deepEqual(report.violations, []);
  assert.equal(report.answered, report.calls, 'exactly one answer for every id');
  assert.equal(report.executed, report.calls, 'each call ran exactly once');
  assert.equal(report.threadsAfter, report.threadsBefore, 'threads of old generations are left');
}

describe('reloads under concurrent calls: none is lost, each runs once, each batch sees wholly old or wholly new code, inline and pooled, ESM and CommonJS two levels deep', () => {
  test('under tsx', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-reload-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    assertSound(await reloadUnderLoad(folder, { reloads: 3, clients: 3 }));
  });

  test('100 times on node without tsx, where memory returns to where it was', async (t) => {
    const compiled = new Compiled(['test/fixtures/faults/reload-main.ts']);
    t.after(() => compiled.remove());
    const child = compiled.start('test/fixtures/faults/reload-main.ts', [
      join(compiled.folder, 'modules'),
      '100',
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
    assert.equal(report.reloads, 100);
    // A generation that stayed, with its threads, would be 10 MB and more for each reload.
    assert.ok(report.rssAfterMb < report.rssBeforeMb + 60, 'resident memory');
    assert.ok(report.heapPerReloadKb < 200, 'heap of the front end for each reload');
  });
});
