import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCaller } from 'tandem-rpc';
import { hasCode, settle } from 'tandem-rpc/client';
import router, { setup } from './procedures.ts';

// A client without a server: the same validation, middleware and check of results.
const api = createCaller(router, { auth: { name: 'Ada' }, state: setup() });

test('greets by name', async () => {
  assert.equal(await api.greet({ name: 'Ada' }), 'Hello, Ada!');
  assert.equal(await api.greet({ name: 'Ada', language: 'de' }), 'Hallo, Ada!');
});

test('knows no other language', async () => {
  const outcome = await settle(api.greet({ name: 'Ada', language: 'xx' }));
  assert.ok(!outcome.ok && hasCode(outcome.error, 404));
});

test('averages', async () => {
  assert.deepEqual(await api.numbers.stats({ values: [1, 2, 3] }), { count: 3, mean: 2 });
});

test('tells callers who they are, and nobody else', async () => {
  assert.equal(await api.whoAmI(), 'Ada');
  const outcome = await settle(createCaller(router).whoAmI());
  assert.ok(!outcome.ok && hasCode(outcome.error, 401));
});
