import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Case 33. */
export const caching: readonly HttpCase[] = [
  {
    title: '33: what is declared so is kept by caches, which ask for it by its ETag',
    async run(site) {
      const first = await site.get('prices?of=tea');
      assert.equal(jsonOf(first), 'price of tea');
      assert.equal(header(first, 'cache-control'), 'private, max-age=60');
      const etag = header(first, 'etag') ?? '';
      assert.match(etag, /^"[\w-]{22}"$/);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const same = await site.get('prices?of=tea', { 'if-none-match': known });
        assert.equal(same.status, 304, known);
        assert.equal(same.body.length, 0);
        assert.equal(header(same, 'etag'), etag);
        assert.equal(header(same, 'cache-control'), 'private, max-age=60');
      }
      for (const other of ['"other"', etag.slice(1, -1)]) {
        const whole = await site.get('prices?of=tea', { 'if-none-match': other });
        assert.equal(jsonOf(whole), 'price of tea', other);
      }
      const head = await site.ask('HEAD', '/api/prices?of=tea');
      assert.equal(header(head, 'etag'), etag);
      assert.equal(header(head, 'content-length'), '14');
      assert.notEqual(header(await site.get('prices?of=milk'), 'etag'), etag);
    },
  },
  {
    title: '33: POST of it, its errors, and everything else are kept by nobody',
    async run(site) {
      const posted = await site.post('prices', '{"of":"tea"}', { 'if-none-match': '*' });
      assert.equal(jsonOf(posted), 'price of tea');
      assert.equal(header(posted, 'cache-control'), 'no-store');
      assert.equal(header(posted, 'etag'), undefined);
      problemOf(await site.get('prices?of=none', { 'if-none-match': '*' }), 404);
      const plain = await site.get('math.add?a=1', { 'if-none-match': '*' });
      assert.equal(jsonOf(plain), 2);
      assert.equal(header(plain, 'etag'), undefined);
    },
  },
  {
    title: '33: caches are told that answers differ by who calls',
    on: 'asking',
    async run(site) {
      const response = await site.get('prices?of=tea', { 'x-token': 'ann' });
      assert.match(header(response, 'vary') ?? '', /\bauthorization, cookie\b/);
    },
  },
];
