import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed } from './random.ts';
import { soak, tableOf } from './soak.ts';

test(`a short soak over HTTP, 1% of the calls hostile: none is lost, none crosses, each runs as often as its answer says (FAULT_SEED=${seed})`, async (t) => {
  const report = await soak({ seed, calls: 2500, hostile: 1, reloads: 2, recoveryRounds: 1 });
  for (const line of tableOf(report).split('\n')) t.diagnostic(line);
  assert.deepEqual(report.violations, []);
  for (const { fault, calls, answered, lost, crossed } of report.rows) {
    assert.deepEqual([lost, crossed], [0, 0], fault);
    if (fault !== 'caller gone') assert.equal(answered, calls, fault);
  }
  assert.equal(report.reloads, 2);
});
