import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxEvents, RecentEvents } from '../../src/core/observe/recent-events.ts';
import { recorder } from '../harness.ts';

describe('the recent events', () => {
  test('are what happens to the service, in few facts: no stack, nothing that a caller or a handler said', () => {
    const { log, lines } = recorder();
    const recent = new RecentEvents();
    const tee = recent.tee(log);
    tee.error(
      { event: 'worker-lost', reason: 'error', detail: 'Error: x\n    at y' },
      'a worker was lost',
    );
    tee.info({ event: 'procedure-log', method: 'a', fields: { secret: 1 } }, 'what a handler says');
    tee.error({ event: 'call-failed', ref: 'r', detail: 'a stack' }, 'a procedure failed');
    tee.info({ event: 'call', method: 'a' }, 'a call');
    tee.info(
      { event: 'placement', method: 'a', place: 'worker', reason: 'it held' },
      'a procedure moved',
    );
    tee.error({ event: 'reload-failed' }, 'not reloaded: \u001b[31mred\nat a stack');
    assert.equal(lines.length, 6, 'every line reaches the log');
    assert.deepEqual(
      recent.list.map(({ event, text }) => [event, text]),
      [
        ['worker-lost', 'a worker was lost · reason: error'],
        ['placement', 'a procedure moved · method: a · place: worker · reason: it held'],
        ['reload-failed', 'not reloaded: \\u001b[31mred'],
      ],
    );
  });

  test('are the last so many', () => {
    const recent = new RecentEvents();
    const tee = recent.tee(recorder().log);
    for (let i = 0; i <= maxEvents; i++)
      tee.warn({ event: 'worker-killed', method: `m${i}` }, 'one');
    assert.equal(recent.list.length, maxEvents);
    assert.equal(recent.list[0]?.text, 'one · method: m1');
  });
});
