import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOpenFiles } from '../../bench/load/open-files.ts';

test('more connections than a process may open are a mistake that says what to do', () => {
  assertOpenFiles(10);
  assert.throws(
    () => assertOpenFiles(2 ** 40),
    /^Error: 1099511627776 connections are more than the \d+ files a process may open here: raise the limit with ulimit -n 1099511627976$/,
  );
});
