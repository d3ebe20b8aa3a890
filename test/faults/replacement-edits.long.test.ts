/** Edits that never end loading, met by the replacements of lost workers. */

import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../turns.ts';
import { EditedModule } from './edited-module.ts';

const changed =
  /version\.mjs has changed since it was loaded|served\.mjs has changed since it was loaded/;

test('a replacement whose files change while it hangs is given up long before startTimeoutMs', async (t) => {
  const setup = `export const setup = () => new Promise((resolve) => {
  if (isMainThread || !existsSync(here('waits'))) resolve(undefined);
  else writeFileSync(here('begun'), '');
});`;
  const served = new EditedModule(t, { workers: 2 }, setup);
  await served.dispatcher.ready();
  served.folder.write('waits', '');
  await served.killWorker();
  await until(() => existsSync(served.file('begun')));
  served.edit(2, setup);
  await served.logged(changed);
  rmSync(served.file('waits'));
  served.edit(1, setup);
  await until(() => served.dispatcher.stats().pool?.workers.length === 2);
  assert.deepEqual(await served.versions(), [1, 1, 1]);
});
