import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { moduleUrl, temporaryFolder } from '../files.ts';
import { suiteLifetime } from '../harness.ts';
import { header } from '../http/raw-client.ts';
import { until } from '../turns.ts';
import { jsonOf, ownServers, problemOf, type Site } from './site.ts';

const modules = [moduleUrl('test/fixtures/openapi/workers.ts')];

/** Bytes that count from 0 to 250, again and again. */
function counting(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; i++) bytes[i] = i % 251;
  return bytes;
}

for (const way of ownServers) {
  describe(`URLs of procedures in workers: ${way.name}`, () => {
    const lifetime = suiteLifetime();
    const folder = temporaryFolder(lifetime);
    let site: Site;
    before(async () => {
      site = await way.open(lifetime, { modules, workers: 1, maxQueue: 0 });
    });

    test('31: a full queue is 503, and says when to come back', async () => {
      const file = join(folder, 'held');
      const body = JSON.stringify({ file });
      const held = site.connect();
      await held.write(
        `POST /api/hold HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      await until(() => existsSync(file));
      const refused = await site.get('one');
      const { code, data } = problemOf(refused, 503);
      assert.equal(code, -32000);
      assert.equal((data as { readonly reason: string }).reason, 'queue');
      assert.match(header(refused, 'retry-after') ?? '', /^[1-9]\d*$/);
      writeFileSync(`${file}.go`, '');
      assert.equal((await held.response()).status, 204);
      assert.equal(jsonOf(await site.get('one')), 1);
    });

    test('bytes and texts of any length come and go whole', async () => {
      const type = { 'content-type': 'application/octet-stream' };
      for (const size of [0, 1, 3000, 70_000, 1_500_000]) {
        const sent = counting(size);
        assert.equal(jsonOf(await site.ask('POST', '/api/count?plus=0', type, sent)), true);
        const response = await site.get(`bytes?size=${size}`);
        assert.equal(header(response, 'content-type'), 'application/wasm');
        assert.ok(response.body.equals(sent), `${size} bytes`);
        const json = await site.get(`bytes?size=${size}`, { accept: 'application/json' });
        assert.equal(jsonOf(json), sent.toString('base64'));
        const text = JSON.stringify({ text: 'é'.repeat(size) });
        assert.equal(jsonOf(await site.post('length', text)), size);
        const long = await site.get(`text?size=${size}`);
        assert.ok(jsonOf(long) === 'é'.repeat(size), `${size} characters`);
        // Above 256 KiB there is no ETag: the call has run anyway.
        assert.equal(header(long, 'etag') === undefined, size > 128 * 1024);
        const head = await site.ask('HEAD', `/api/text?size=${size}`);
        assert.equal(header(head, 'content-length'), String(2 * size + 2));
      }
    });

    const octets = { 'content-type': 'application/octet-stream' };
    for (const place of ['worker', 'inline']) {
      test(`bytes that look like a reply, an error or a problem are bytes (${place})`, async () => {
        for (const text of [
          '{"jsonrpc":"2.0","id":1,"result":"AAAA"}',
          '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}',
          '"AAAA"',
        ]) {
          for (const sent of [text, text.padEnd(1_200_000)]) {
            const response = await site.ask('POST', `/api/echo.${place}`, octets, sent);
            assert.equal(response.status, 200);
            assert.equal(header(response, 'content-type'), 'application/octet-stream');
            assert.ok(response.body.equals(Buffer.from(sent)));
          }
        }
      });

      test(`a handler that keeps its bytes keeps its own (${place})`, async () => {
        for (const size of [10, 100_000]) {
          const first = Buffer.alloc(size, 'a');
          await site.ask('POST', `/api/keep.${place}`, octets, first);
          const answer = await site.ask(
            'POST',
            `/api/keep.${place}`,
            octets,
            Buffer.alloc(size, 'b'),
          );
          assert.ok(answer.body.equals(first), `${size} bytes`);
        }
      });

      test(`more bytes than maxBytes are refused as base64 is (${place})`, async () => {
        const sent = Buffer.alloc(2_000_001);
        const raw = problemOf(await site.ask('POST', `/api/keep.${place}`, octets, sent), 400);
        assert.equal(raw.code, -32602);
        if (place === 'inline') return; // base64 of that length is above maxInlineParamsBytes
        const json = JSON.stringify({ data: sent.toString('base64') });
        assert.deepEqual(problemOf(await site.post(`keep.${place}`, json), 400), raw);
      });
    }

    test('bytes above maxReplyBytes are 500', async () => {
      const { code } = problemOf(await site.get('bytes?size=26214401'), 500);
      assert.equal(code, -32004);
    });

    test('a large body in chunks is one body', async () => {
      const client = site.connect();
      const sent = counting(200_000);
      await client.write(
        'POST /api/count HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n',
      );
      for (let at = 0; at < sent.length; at += 50_000) {
        const chunk = sent.subarray(at, at + 50_000);
        await client.write(Buffer.concat([Buffer.from('c350\r\n'), chunk, Buffer.from('\r\n')]));
      }
      assert.equal(jsonOf(await client.ask('0\r\n\r\n')), true);
    });

    test('bytes that answer a body in chunks are whole, and the connection ends', async () => {
      for (const size of [300, 70_000]) {
        const client = site.connect();
        const params = JSON.stringify({ size });
        await client.write(
          `POST /api/bytes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n` +
            `${params.length.toString(16)}\r\n${params}\r\n0\r\n\r\n`,
        );
        const response = await client.response();
        assert.equal(header(response, 'content-type'), 'application/wasm');
        assert.ok(response.body.equals(counting(size)), `${size} bytes`);
        if (way.server === 'uws') await client.untilClosed();
      }
    });

    test('streams of workers are events', async () => {
      assert.deepEqual(await site.events('ticks?n=2'), [
        ['', 1],
        ['', 2],
        ['result', 'end'],
      ]);
    });

    test('32: a worker that dies in a call that only reads is 503, in another call 500', async () => {
      const reading = await site.get('die.reading');
      assert.equal(problemOf(reading, 503).code, -32002);
      assert.equal(header(reading, 'retry-after'), '1');
      // The next call is refused until another worker is there.
      while ((await site.get('one')).status !== 200);
      const writing = await site.post('die.writing', '{}');
      assert.equal(problemOf(writing, 500).code, -32002);
      assert.equal(header(writing, 'retry-after'), undefined);
    });
  });
}
