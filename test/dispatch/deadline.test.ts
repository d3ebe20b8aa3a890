import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import fc from 'fast-check';
import { type Deadline, DeadlineSweep } from '../../src/core/dispatch/deadline.ts';
import { seed } from '../seed.ts';

const start = 1_000_000;
/** A sweep may come this much late: deadlines close to each other share one. */
const slackMs = 5;

class Entry implements Deadline {
  readonly at: number;
  readonly events: string[] = [];
  expiredAt: number | undefined;

  constructor(at: number) {
    this.at = at;
  }

  expire(): void {
    this.events.push('expired');
    this.expiredAt = Date.now();
  }

  shutdown(): void {
    this.events.push('shutdown');
  }
}

describe('DeadlineSweep', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start }));
  afterEach(() => mock.timers.reset());

  test('each ends once, not before its time and just after it', () => {
    const offsets = fc.array(fc.record({ in: fc.nat({ max: 500 }), added: fc.nat({ max: 300 }) }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(offsets, fc.nat({ max: 40 }), (list, deleted) => {
        const sweep = new DeadlineSweep(Date.now);
        const begin = Date.now();
        const entries = list.map((one) => ({
          ...one,
          entry: new Entry(begin + one.added + one.in),
        }));
        for (let now = 0; now <= 900; now++) {
          for (const { added, entry } of entries) if (added === now) sweep.add(entry);
          if (now === 100)
            for (const { entry, added } of entries.slice(deleted))
              if (added <= now) sweep.delete(entry);
          mock.timers.tick(1);
        }
        for (const [index, { entry, added }] of entries.entries()) {
          const removed = index >= deleted && added <= 100;
          if (entry.events.length === 0) {
            assert.ok(removed, `never ended: ${JSON.stringify(list)}`);
          } else {
            assert.deepEqual(entry.events, ['expired']);
            assert.ok(entry.expiredAt! >= entry.at, 'too early');
            const due = Math.max(entry.at, begin + added);
            assert.ok(entry.expiredAt! <= due + slackMs + 1, `${entry.expiredAt! - due} ms late`);
          }
        }
        sweep.close();
      }),
      { seed, numRuns: 60 },
    );
  });

  test('of thousands that come at once no turn answers more than 500, and all end within 50 ms', () => {
    const sweep = new DeadlineSweep(Date.now);
    const entries = Array.from({ length: 2200 }, () => new Entry(start + 10));
    for (const entry of entries) sweep.add(entry);
    const perTurn: number[] = [];
    for (let ms = 0; ms < 60; ms++) {
      const before = entries.filter(({ events }) => events.length > 0).length;
      mock.timers.tick(1);
      const after = entries.filter(({ events }) => events.length > 0).length;
      if (after > before) perTurn.push(after - before);
    }
    assert.deepEqual(perTurn, [500, 500, 500, 500, 200]);
    for (const { events } of entries) assert.deepEqual(events, ['expired']);
  });

  test('one farther away than a timer reaches', () => {
    const sweep = new DeadlineSweep(Date.now);
    const entry = new Entry(start + 2 ** 31 + 1000);
    sweep.add(entry);
    mock.timers.tick(2 ** 31 - 1);
    assert.deepEqual(entry.events, []);
    mock.timers.tick(1001 + slackMs);
    assert.deepEqual(entry.events, ['expired']);
  });

  test('close ends what has not ended, once', () => {
    const sweep = new DeadlineSweep(Date.now);
    const [past, future, left] = [10, 1000, 1000].map((ms) => new Entry(start + ms)) as [
      Entry,
      Entry,
      Entry,
    ];
    for (const entry of [past, future, left]) sweep.add(entry);
    sweep.delete(left);
    mock.timers.tick(20);
    sweep.close();
    sweep.close();
    mock.timers.tick(10_000);
    assert.deepEqual([past.events, future.events, left.events], [['expired'], ['shutdown'], []]);
  });
});
