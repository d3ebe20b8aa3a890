import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePlacement } from '../../src/core/dispatch/placement.ts';

test('where a procedure begins', () => {
  // placement, asynchronous, workers there: place, the cause, which is in the reason's words
  for (const [placement, isAsync, hasWorkers, place, reason] of [
    ['inline', false, false, 'inline', 'declared'],
    ['inline', false, true, 'inline', 'declared'],
    ['inline', true, false, 'inline', 'declared'],
    ['inline', true, true, 'inline', 'declared'],
    ['worker', false, true, 'worker', 'declared'],
    ['worker', true, true, 'worker', 'declared'],
    ['auto', false, true, 'worker', 'synchronous'],
    ['auto', true, true, 'inline', 'asynchronous'],
    ['auto', false, false, 'inline', 'modules'],
    ['auto', true, false, 'inline', 'modules'],
  ] as const) {
    const rest = { group: undefined, isStream: false };
    const decision = decidePlacement({ ...rest, placement, isAsync, hasWorkers });
    const facts = `${placement} ${isAsync ? 'async' : 'sync'} ${hasWorkers ? 'workers' : 'alone'}`;
    assert.equal(decision.place, place, facts);
    assert.ok(decision.reason.includes(reason), `${facts}: ${decision.reason}`);
    assert.ok(decision.cause.includes(reason), `${facts}: ${decision.cause}`);
  }
});

test('a group is a place of its own, whatever the procedure is', () => {
  for (const placement of ['auto', 'worker'] as const) {
    for (const isAsync of [true, false]) {
      const facts = { placement, group: 'gpu', isAsync, isStream: false, hasWorkers: true };
      const { place, reason, cause } = decidePlacement(facts);
      assert.deepEqual([place, cause], ['worker:gpu', 'declared']);
      assert.match(reason, /group: 'gpu'/);
    }
  }
});
