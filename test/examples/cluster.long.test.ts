import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startModule } from '../cli/process.ts';
import { describeNats } from '../nats/server.ts';

describeNats('examples/cluster/demo.ts', () => {
  test('breaks a cluster in every way it names, and no order runs twice or is left without an answer', async () => {
    const { code, stdout, stderr } = await startModule('examples/cluster/demo.ts', []).exit;
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    for (const phase of [
      'deploy',
      'is killed',
      'stands still',
      'back after 0.3 s',
      'back after 2 s',
    ]) {
      assert.match(stdout, new RegExp(`${phase}.* \\d+ +\\d+ `), phase);
    }
    assert.match(stdout, /orders: ran twice 0, answered without a run 0, not answered 0\n$/);
  });
});
