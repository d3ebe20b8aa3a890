import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReplyMemory } from '../../src/core/dispatch/reply-memory.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';

const callers = {
  keyOf: (scope: RequestScope) => scope.callerKey ?? '',
  weightOf: (scope: RequestScope) => (scope.callerKey === 'heavy' ? 9 : 1),
};

function world(limit: number) {
  const memory = new ReplyMemory(limit, callers);
  const cut: string[] = [];
  const add = (key: string, name: string, bytes: number, pace: number): void => {
    const scope = new RequestScope();
    scope.callerKey = key;
    memory.add({ scope, bytes, pace, cut: () => cut.push(name) });
  };
  return { memory, cut, add };
}

describe('the memory for replies', () => {
  test('beyond its limit the slowest connection of a caller that holds its share or more is cut', () => {
    const { memory, cut, add } = world(100);
    add('modest', 'slowest of all', 10, 1);
    add('greedy', 'a', 30, 5);
    add('greedy', 'b', 30, 3);
    add('greedy', 'c', 30, 4);
    assert.deepEqual(cut, []);
    add('other', 'd', 10, 9);
    assert.deepEqual(cut, ['b']);
    assert.deepEqual(memory.stats(), { waiting: 80, limit: 100, cut: 1 });
  });

  test('the key of each waiting reply is computed once, however many come above the limit', () => {
    let asked = 0;
    const counted = { ...callers, keyOf: (scope: RequestScope) => `${++asked} ${scope.callerKey}` };
    const memory = new ReplyMemory(1000, counted);
    for (let i = 0; i < 300; i++) {
      memory.add({ scope: new RequestScope(), bytes: 10, pace: i, cut: () => {} });
    }
    assert.ok(memory.stats().cut > 100);
    assert.ok(asked <= 300, `${asked} keys`);
  });

  test('of equal callers the slowest one is cut', () => {
    const { cut, add } = world(100);
    for (const [key, pace] of [
      ['a', 3],
      ['b', 1],
      ['c', 2],
      ['d', 4],
    ] as const)
      add(key, key, 25, pace);
    add('e', 'e', 24, 5);
    assert.deepEqual(cut, ['b']);
  });

  test('a caller of more weight may hold more', () => {
    const { cut, add } = world(100);
    add('heavy', 'heavy', 70, 1);
    add('light', 'light', 30, 5);
    add('light', 'light too', 10, 9);
    assert.deepEqual(cut, ['light']);
  });
});
