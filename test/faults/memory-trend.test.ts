import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trendOf } from './memory-trend.ts';

test('the trend of a line is its slope, without an error', () => {
  const { slope, error } = trendOf([1, 2, 3, 4, 5, 6, 7, 8].map((x) => [x, 3 * x + 1]));
  assert.ok(Math.abs(slope - 3) < 1e-9);
  assert.ok(error < 1e-6);
});

test('what goes up and down about a level may have no slope', () => {
  const { slope, error } = trendOf([5, 7, 5, 6, 7, 5, 6, 5].map((y, x) => [x, y]));
  assert.ok(Math.abs(slope) < error);
});

test('what grows by more than it goes up and down has one', () => {
  const { slope, error } = trendOf([0, 3, 3, 7, 8, 11, 12, 15].map((y, x) => [x, y]));
  assert.ok(slope - error > 0);
});
