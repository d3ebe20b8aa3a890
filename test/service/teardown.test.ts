import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedModules } from '../../src/modules/modules.ts';
import { teardownWithin } from '../../src/service/teardown.ts';
import { shortTimersHaveFired } from '../short-timers.ts';

test('a teardown may take as long as it takes where the limit is none, or longer than a timer can be', async () => {
  for (const limitMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    const modules = { modules: [], teardown: shortTimersHaveFired } as unknown as LoadedModules;
    assert.equal(await teardownWithin(modules, limitMs), undefined);
  }
});
