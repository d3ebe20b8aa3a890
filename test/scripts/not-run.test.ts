import assert from 'node:assert/strict';
import { test } from 'node:test';
import notRun from '../../scripts/not-run.ts';

async function* skipped() {
  for (const [type, skip] of [
    ['suite', 'needs a server'],
    ['test', 'needs a server'],
    ['test', 'needs a server'],
    ['test', undefined],
    ['test', 'needs a user'],
  ] as const) {
    yield { type: 'test:pass', data: { skip, details: { type } } } as never;
  }
  yield { type: 'test:diagnostic', data: { message: 'tests 5' } } as never;
}

test('the reporter of skipped tests counts suites and tests, one line for each reason', async () => {
  const lines: string[] = [];
  for await (const line of notRun(skipped())) lines.push(line);
  assert.deepEqual(lines, [
    'not run: 1 suite and 2 tests: needs a server\n',
    'not run: 1 test: needs a user\n',
  ]);
});
