import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { issueOf, jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

const two = Uint8Array.of(1, 2);

/** Cases 27 and 28. */
export const bytes: readonly HttpCase[] = [
  {
    title: '27: bytes are answered as they are, and run as no page of this origin',
    async run(site) {
      const png = await site.get('png?id=1');
      assert.equal(png.status, 200);
      assert.equal(header(png, 'content-type'), 'image/png');
      assert.equal(header(png, 'x-content-type-options'), 'nosniff');
      assert.equal(header(png, 'content-security-policy'), "default-src 'none'; sandbox");
      assert.deepEqual(new Uint8Array(png.body), Uint8Array.of(0x89, 0x50, 1));
      const octets = await site.get('png?id=1', { accept: 'application/octet-stream' });
      assert.equal(header(octets, 'content-type'), 'application/octet-stream');
      assert.deepEqual(octets.body, png.body);
      const json = await site.get('png?id=1', { accept: 'application/json' });
      assert.equal(jsonOf(json), 'iVAB');
      const posted = await site.post('png', '{"id":1}', { accept: 'image/avif, image/*' });
      assert.deepEqual(posted.body, png.body);
      const head = await site.ask('HEAD', '/api/png?id=1');
      assert.equal(header(head, 'content-length'), '3');
      assert.equal(header(head, 'content-type'), 'image/png');
    },
  },
  {
    title: '28: bytes come as the body, beside the params of the query; or as base64 in JSON',
    async run(site) {
      const put = (type: string, body: Uint8Array = two, query = 'id=1') =>
        site.ask('POST', `/api/put?${query}`, { 'content-type': type }, body);
      for (const type of ['image/png', 'Image/JPEG; q=1', 'application/octet-stream']) {
        assert.equal(jsonOf(await put(type)), 3, type);
      }
      assert.equal(jsonOf(await put('image/png', new Uint8Array(0))), 1);
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      assert.equal(jsonOf(await put('image/png', all)), 257);
      const html = await put('text/html');
      problemOf(html, 415);
      assert.equal(
        header(html, 'accept-post'),
        'application/json, application/octet-stream, image/*',
      );
      assert.equal(jsonOf(await site.post('put', '{"id":1,"data":"AQI="}')), 3);
      // A value has one source.
      assert.match(
        problemOf(await put('image/png', two, 'id=1&data=AQI%3D'), 400).detail ?? '',
        /"data"/,
      );
      assert.equal(issueOf(await put('image/png', two, 'id=x')).path, '/id');
      assert.equal(issueOf(await site.post('put', '{"id":1}')).path, '/data');
    },
  },
  {
    title: '28: a body above maxBodyBytes is 413',
    on: 'small',
    async run(site) {
      const put = (bytes: number) =>
        site.ask('POST', '/api/put?id=1', { 'content-type': 'image/png' }, Buffer.alloc(bytes));
      const { code, data } = problemOf(await put(1001), 413);
      assert.deepEqual([code, data], [-32004, { limit: 1000 }]);
      assert.equal(jsonOf(await put(300)), 301);
    },
  },
  {
    title: '28: params of an inline call above maxInlineParamsBytes are 413',
    on: 'small',
    isInline: true,
    async run(site) {
      const long = JSON.stringify({ s: 'x'.repeat(600) });
      assert.deepEqual(problemOf(await site.post('echo', long), 413).data, {
        limit: 500,
        reason: 'params',
      });
    },
  },
];
