import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { Topic, type TopicOptions } from '../../src/index.ts';

/** The values that are there, without waiting for more. */
async function taken<T>(stream: AsyncGenerator<T, undefined>, count: number): Promise<T[]> {
  const values: T[] = [];
  for (let i = 0; i < count; i++) values.push((await stream.next()).value as T);
  return values;
}

const done = { done: true, value: undefined };

describe('a topic', () => {
  test('gives every subscriber what is published from then on, in order, as it is', async () => {
    const topic = new Topic<object>();
    const [a, b, c] = [{ a: 1 }, { b: 2 }, { c: 3 }];
    topic.publish(a);
    const early = topic.subscribe();
    topic.publish(b);
    const late = topic.subscribe();
    topic.publish(c);
    const values = await taken(early, 2);
    assert.ok(values[0] === b && values[1] === c);
    assert.deepEqual(await taken(late, 1), [c]);
  });

  test('wakes who waits, in the order of their asking', async () => {
    const topic = new Topic<number>();
    const stream = topic.subscribe();
    const asked = [stream.next(), stream.next(), stream.next()];
    for (const value of [1, 2, 3, 4]) topic.publish(value);
    assert.deepEqual(
      (await Promise.all(asked)).map(({ value }) => value),
      [1, 2, 3],
    );
    assert.deepEqual(await taken(stream, 1), [4]);
  });

  test('keeps as many values as its buffer has room for, the newest, again and again', async () => {
    const topic = new Topic<number>({ buffer: 3 });
    const [slow, quick] = [topic.subscribe(), topic.subscribe()];
    let published = 0;
    for (const count of [2, 5, 3, 100_000, 1]) {
      const seen: number[] = [];
      for (let i = 0; i < count; i++) {
        topic.publish(published++);
        seen.push(...(await taken(quick, 1)));
      }
      assert.equal(seen.length, count, 'who keeps up misses nothing');
      const kept = Math.min(count, 3);
      const newest = Array.from({ length: kept }, (_, i) => published - kept + i);
      assert.deepEqual(await taken(slow, kept), newest);
    }
  });

  test("keeps 16 where nothing is said; overflow: 'end' gives them, then an error that says so", async () => {
    const topic = new Topic<number>({ overflow: 'end' });
    const [slow, quick] = [topic.subscribe(), topic.subscribe()];
    for (let i = 0; i < 17; i++) {
      topic.publish(i);
      await quick.next();
    }
    topic.publish(17);
    assert.deepEqual(
      await taken(slow, 16),
      Array.from({ length: 16 }, (_, i) => i),
    );
    const overflow = { code: -32003, data: { reason: 'overflow', buffer: 16 } };
    await assert.rejects(slow.next(), overflow);
    assert.deepEqual(await slow.next(), done);
    assert.deepEqual(await taken(quick, 1), [17], 'others go on');
  });

  test('ends a subscription with the reason of its signal, and forgets both', async () => {
    const topic = new Topic<number>();
    const stop = new AbortController();
    const [waiting, behind] = [topic.subscribe(stop.signal), topic.subscribe(stop.signal)];
    const asked = [waiting.next(), waiting.next()];
    stop.abort(new Error('enough'));
    topic.publish(1);
    await assert.rejects(asked[0]!, /enough/);
    assert.deepEqual(await asked[1], done);
    await assert.rejects(behind.next(), /enough/);
    assert.deepEqual(await behind.next(), done);
    await assert.rejects(topic.subscribe(stop.signal).next(), /enough/);
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
  });

  test('ends a subscription whose loop is left', async () => {
    const topic = new Topic<number>();
    const { signal } = new AbortController();
    const stream = topic.subscribe(signal);
    topic.publish(1);
    topic.publish(2);
    for await (const value of stream) if (value === 1) break;
    topic.publish(3);
    assert.deepEqual(await stream.next(), done);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    const thrown = topic.subscribe();
    await assert.rejects(thrown.throw(new Error('x')), /x/);
    assert.deepEqual(await thrown.next(), done);
  });

  test('refuses options that can not be', () => {
    for (const options of [{ buffer: 0 }, { buffer: 1.5 }, { buffer: '9' }, { overflow: 'drop' }]) {
      assert.throws(
        () => new Topic(options as TopicOptions),
        /^TypeError: Topic: option (buffer|overflow) must be/,
      );
    }
  });
});
