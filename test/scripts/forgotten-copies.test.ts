import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { prefixOf, removeForgotten } from '../../scripts/forgotten-copies.ts';

test('a copy that is older than an hour is removed once its maker has ended, and no sooner; what is no copy stays', (t) => {
  const builds = mkdtempSync(join(tmpdir(), 'tandem-builds-'));
  t.after(() => rmSync(builds, { recursive: true }));
  const ended = prefixOf(spawnSync(process.execPath, ['--version']).pid);
  const running = prefixOf(process.pid);
  for (const name of [
    `${ended}old`,
    `${running}old`,
    'console-old',
    'languages.old',
    `${ended}young`,
  ]) {
    mkdirSync(join(builds, name));
  }
  const longAgo = new Date(Date.now() - 2 * 3_600_000);
  for (const name of readdirSync(builds)) {
    if (name.endsWith('old')) utimesSync(join(builds, name), longAgo, longAgo);
  }
  removeForgotten(builds);
  assert.deepEqual(
    readdirSync(builds).sort(),
    [`${ended}young`, `${running}old`, 'languages.old'].sort(),
  );
});
