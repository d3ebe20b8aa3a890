import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePlacement } from '../../src/dispatch/placement.ts';

test('where a procedure begins', () => {
  // placement, asynchronous, workers there: place, a word of the reason
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
    ['auto', true, false, 'inline', ''],
  ] as const) {
    const decision = decidePlacement({ placement, isAsync, hasWorkers });
    const facts = `${placement} ${isAsync ? 'async' : 'sync'} ${hasWorkers ? 'workers' : 'alone'}`;
    assert.equal(decision.place, place, facts);
    assert.ok(decision.reason.includes(reason), `${facts}: ${decision.reason}`);
  }
});
