import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { logEvents } from '../../src/core/observe/events.ts';
import {
  blockedMetrics,
  callMetrics,
  counterTable,
  gaugeTable,
  placeMetric,
} from '../../src/core/observe/metric-table.ts';
import { read } from './pages.ts';

/** Names in the first column of the table below a heading. */
function firstColumn(page: string, heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\n(.*?)^## `, 'ms').exec(page) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) =>
    Array.from((row.split('|')[1] ?? '').matchAll(/`([\w-]+)`/g), ([, name = '']) => name),
  );
}

describe('docs/operations.md', () => {
  const page = read('docs/operations.md');

  it('lists every metric there is, and no other', () => {
    const tables = [callMetrics, blockedMetrics, { placeMetric }, counterTable, gaugeTable];
    const names = tables.flatMap((table) =>
      Object.values<{ readonly name: string }>(table).map(({ name }) => name),
    );
    assert.deepEqual(firstColumn(page, 'Metrics').sort(), [...new Set(names)].sort());
  });

  it('lists every event of the log, and no other', () => {
    assert.deepEqual(firstColumn(page, 'The log').sort(), Object.keys(logEvents).sort());
  });
});
