import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertSound, reloadUnderLoad } from './reload-load.ts';

test('reloads under concurrent calls: none is lost, each runs once, each batch sees wholly old or wholly new code, inline and pooled, ESM and CommonJS two levels deep', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-reload-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assertSound(await reloadUnderLoad(folder, { reloads: 3, clients: 3 }));
});
