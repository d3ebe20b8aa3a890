import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BodyMemory, RequestBody } from '../../src/core/dispatch/body-memory.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { largeBody } from '../../src/core/protocol/body.ts';

const mb = 1024 ** 2;
const scope = new RequestScope();

/** Bytes by which a place tells where it stands. */
function bytes(from: number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (from + i) % 251));
}

function fill(body: RequestBody, length: number, chunk: number): void {
  for (let at = 0; at < length; at += chunk) {
    assert.equal(body.add(bytes(at, Math.min(chunk, length - at))), undefined);
  }
}

describe('a body that grows', () => {
  for (const length of [0, 1, 4096, 4097, largeBody, largeBody + 1, 300_000]) {
    for (const chunk of [1000, 4096, 70_000, 1_000_000]) {
      test(`of ${length} bytes in chunks of ${chunk} is whole`, () => {
        const memory = new BodyMemory(16 * mb, mb);
        const body = new RequestBody(memory, mb, scope);
        fill(body, length, chunk);
        const whole = body.end();
        assert.ok(bytes(0, length).equals(whole));
        const isLarge = length > largeBody;
        assert.equal(whole.buffer instanceof SharedArrayBuffer, isLarge);
        assert.equal(body.lease?.bytes.buffer, isLarge ? whole.buffer : undefined);
        const { inUse } = memory.stats();
        assert.ok(inUse >= length && inUse <= Math.max(2.5 * length, 4096), `${inUse}`);
        body.release();
        body.release();
        assert.equal(memory.stats().inUse, 0);
      });
    }
  }

  test('takes no more memory than twice what has come', () => {
    const memory = new BodyMemory(16 * mb, 10 * mb);
    const body = new RequestBody(memory, 10 * mb, scope);
    for (let length = 1000; length < 2 * mb; length += 1000) {
      assert.equal(body.add(bytes(length, 1000)), undefined);
      assert.ok(memory.stats().inUse <= Math.max(2.5 * length, 4096), `${length}`);
    }
    body.release();
    memory.close();
    assert.deepEqual(memory.stats(), { inUse: 0, kept: 0, limit: 16 * mb, refused: 0 });
  });

  test('is refused where it is longer than any may be, and takes no memory for that', () => {
    const memory = new BodyMemory(16 * mb, mb);
    for (const most of [10, 100_000]) {
      const body = new RequestBody(memory, most, scope);
      fill(body, most, 1000);
      const { inUse } = memory.stats();
      assert.equal(body.add(bytes(0, 1)), 'too-large');
      assert.equal(memory.stats().inUse, inUse);
      assert.ok(inUse <= 2 * most, `${inUse}`);
      body.release();
    }
    assert.deepEqual([memory.stats().inUse, memory.stats().refused], [0, 0]);
  });

  test('is refused where there is no memory, small or large, and gives back what it had', () => {
    const memory = new BodyMemory(mb, mb);
    assert.ok(memory.take(mb - 5000));
    for (const length of [5001, largeBody + 1]) {
      const body = new RequestBody(memory, mb, scope);
      assert.equal(body.add(bytes(0, 900)), undefined);
      assert.equal(body.add(bytes(0, length - 900)), 'bodyMemory');
      body.release();
      assert.equal(memory.stats().inUse, mb - 5000);
    }
    assert.equal(memory.stats().refused, 2);
    // Twice the room is not to be had, and what is needed is.
    const body = new RequestBody(memory, mb, scope);
    assert.equal(body.add(bytes(0, 4097)), undefined);
    assert.ok(bytes(0, 4097).equals(body.end()));
    body.release();
  });
});
