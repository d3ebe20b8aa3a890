import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patience } from '../patience.ts';
import { seed } from './random.ts';
import { notesOf, tableOf } from './soak/report.ts';
import { soak } from './soak/soak.ts';

/** Rows whose callers leave, or may be refused before they have sent all. */
const mayGoUnanswered = new Set([
  'caller gone',
  'upload given up',
  'held',
  'large',
  'large inline',
  'stream left',
]);

test(`a short soak over HTTP, 1% of the calls hostile, among large and broken uploads, streams and bad edits: none is lost, none crosses, each runs as often as its answer says (FAULT_SEED=${seed})`, async (t) => {
  const report = await soak({
    seed,
    calls: 2500,
    hostile: 1,
    reloads: 2,
    bursts: 2,
    startTimeoutMs: patience.startTimeoutMs,
    // No figure of theirs is judged here, and each fault has come under load.
    recoveryRounds: 0,
  });
  for (const line of `${tableOf(report)}\n${notesOf(report)}`.split('\n')) t.diagnostic(line);
  assert.deepEqual(report.violations, []);
  for (const { fault, calls, answered, notAccepted, lost, crossed, doubled } of report.rows) {
    assert.deepEqual([lost, crossed, doubled], [0, 0, 0], fault);
    if (!mayGoUnanswered.has(fault)) assert.equal(answered + notAccepted, calls, fault);
  }
  assert.deepEqual([report.reloads, report.badEdits], [2, 2]);
});
