/** The OpenAPI document is what validators and linters take. They are long to load. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf } from '../../src/core/procedures/router.ts';
import { Router } from '../../src/index.ts';
import hard from '../fixtures/openapi/hard-shapes.ts';
import { documentOf } from './hard-document.ts';
import { lintFindings, openApiFaults } from './validator.ts';

test('the validators refuse what is no OpenAPI document', async () => {
  const router = new Router();
  router.rpc({ name: 'p' }, () => 1);
  const document = documentOf(tableOf(router));
  assert.deepEqual(await openApiFaults(document), []);
  assert.deepEqual(await lintFindings(document), []);
  const wrong = { ...document, paths: { '/a': { get: { responses: { 200: {} } } } } };
  assert.notDeepEqual(await openApiFaults(wrong), []);
  assert.notDeepEqual(await lintFindings(wrong), []);
  const schema = { type: 'text' };
  const badSchema = { ...document, components: { schemas: { A: schema } } };
  assert.notDeepEqual(await openApiFaults(badSchema), []);
});

test('the document of hard shapes is valid by the official schema and has no finding of redocly', async () => {
  for (const given of [
    {},
    { hasAuth: true, httpAuth: 'header:X-Api-Key', publicUrl: 'https://example.org/v1' },
  ]) {
    const document = documentOf(tableOf(hard), given);
    assert.deepEqual(await openApiFaults(document), []);
    assert.deepEqual(await lintFindings(document), []);
  }
});
