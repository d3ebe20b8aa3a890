import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Case 34. */
export const document: readonly HttpCase[] = [
  {
    title: '34: the document is at /openapi.json, and is asked for by its ETag',
    async run(site) {
      const whole = await site.ask('GET', '/openapi.json');
      const { openapi, paths } = jsonOf(whole) as {
        readonly openapi: string;
        readonly paths: Readonly<Record<string, object>>;
      };
      assert.equal(openapi, '3.1.1');
      assert.deepEqual(Object.keys(paths['/api/math.add'] ?? {}), ['get']);
      assert.deepEqual(Object.keys(paths['/api/save'] ?? {}), ['post']);
      const etag = header(whole, 'etag') ?? '';
      assert.match(etag, /^"[\w-]{22}"$/);
      const same = await site.ask('GET', '/openapi.json', { 'if-none-match': etag });
      assert.equal(same.status, 304);
      assert.equal(same.body.length, 0);
      const head = await site.ask('HEAD', '/openapi.json');
      assert.equal(header(head, 'content-length'), String(whole.body.length));
    },
  },
  {
    title:
      '34: authenticate is asked for it, and refuses it as it refuses a call: 401 with www-authenticate and a problem document',
    on: 'asking',
    async run(site) {
      const refused = await site.ask('GET', '/openapi.json');
      assert.equal(problemOf(refused, 401).code, 4010);
      assert.equal(header(refused, 'www-authenticate'), 'Bearer');
      problemOf(await site.ask('GET', '/openapi.json', { 'x-token': 'forbidden' }), 403);
      const whole = await site.ask('GET', '/openapi.json', { 'x-token': 'ann' });
      const { security } = jsonOf(whole) as { readonly security: readonly object[] };
      assert.deepEqual(security, [{ auth: [] }]);
    },
  },
];
