import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BodyMemory } from '../../src/core/dispatch/body-memory.ts';

const mb = 1024 ** 2;

/** One turn of the event loop, in which no collector takes what was there at its begin. */
describe('a buffer that is kept no longer', () => {
  test('is used again while the collector has not taken it', () => {
    const memory = new BodyMemory(256 * mb, 10 * mb);
    const leases = Array.from({ length: 10 }, () => memory.lend(9 * mb));
    const buffers = new Set(leases.map((lease) => lease?.bytes.buffer));
    assert.equal(buffers.size, 10);
    for (const lease of leases) lease?.release();
    memory.close();
    assert.deepEqual(memory.stats(), { inUse: 0, kept: 0, limit: 256 * mb, refused: 0 });
    const again = Array.from({ length: 11 }, () => memory.lend(9 * mb));
    const known = again.filter((lease) => buffers.has(lease?.bytes.buffer));
    assert.equal(known.length, 10);
    assert.equal(new Set(again.map((lease) => lease?.bytes.buffer)).size, 11);
  });
});

describe('the memory for bodies', () => {
  test('drops kept buffers for what needs their room, and the idle ones with time', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let now = 0;
    const memory = new BodyMemory(10 * mb, 10 * mb, () => now);
    const small = Array.from({ length: 8 }, () => memory.lend(mb));
    for (const lease of small) lease?.release();
    assert.equal(memory.stats().kept, 8 * mb);
    const whole = memory.lend(10 * mb);
    assert.ok(whole !== undefined);
    assert.equal(memory.stats().kept, 0);
    assert.equal(memory.take(1), false);
    whole.release();
    assert.throws(() => whole.release(), /given back twice/);
    assert.equal(memory.stats().kept, 10 * mb);
    t.mock.timers.tick(5000);
    assert.equal(memory.stats().kept, 10 * mb);
    now = 10_000;
    t.mock.timers.tick(5000);
    assert.equal(memory.stats().kept, 0);
  });
});
