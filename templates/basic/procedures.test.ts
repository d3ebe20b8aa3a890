import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handleRequest } from 'tandem-rpc';
import router from './procedures.ts';

async function call(method: string, params: object): Promise<unknown> {
  const reply = await handleRequest({ jsonrpc: '2.0', id: 1, method, params }, router);
  const { result, error } = reply as { result?: unknown; error?: unknown };
  assert.equal(error, undefined);
  return result;
}

test('greets by name', async () => {
  assert.equal(await call('greet', { name: 'Ada' }), 'Hello, Ada!');
});

test('averages', async () => {
  assert.deepEqual(await call('numbers.stats', { values: [1, 2, 3] }), { count: 3, mean: 2 });
});
