import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turns } from '../../turns.ts';
import { header, json, post, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const maxBodyBytes = 1000;

const head = (headers: Readonly<Record<string, string>> = {}): Buffer =>
  post('', { 'content-length': undefined, 'transfer-encoding': 'chunked', ...headers });

/** A body in chunks of `size` bytes. */
function chunksOf(body: string | Uint8Array, size = Number.POSITIVE_INFINITY): Buffer {
  const bytes = Buffer.from(body as Uint8Array);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

const inChunks = (body: string, size?: number, headers = {}): Buffer =>
  Buffer.concat([head(headers), chunksOf(body, size)]);

/** Served only by a server that takes it for a request of its own. */
const smuggled = post(rpc('echo', 'smuggled', 'smuggled'));

export function chunked(start: Start, transport: 'uws' | 'node'): void {
  for (const [name, bytes, size] of [
    ['in one chunk', 200, 1000],
    ['byte by byte', 200, 1],
    ['of 300 KB in large chunks', 300_000, 70_000],
    ['of 300 KB in small chunks', 300_000, 999],
  ] as const) {
    test(`a chunked call ${name} is answered as any other`, async (t) => {
      const { client, service } = await start(t);
      const text = 'aé€😀z'.padEnd(bytes, 'x');
      const one = client();
      const reply = await one.ask(inChunks(rpc('echo', text), size));
      assert.equal(reply.status, 200);
      assert.equal(json(reply).result, text);
      assert.equal(header(reply, 'access-control-allow-origin'), '*');
      assert.equal(service.bodies[0]?.shared, bytes > 64 * 1024);
      assert.equal(service.bodyMemory.stats().inUse, 0);
      if (transport === 'node') {
        assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
      } else {
        assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
        await one.untilClosed();
      }
    });
  }

  test('a chunked call may be cut anywhere behind its first line', async (t) => {
    const { client, service } = await start(t);
    const bytes = inChunks(rpc('echo', 'aé€😀z'), 11);
    for (let cut = bytes.indexOf('\r\n') + 2; cut < bytes.length; cut++) {
      const one = client();
      await one.write(bytes.subarray(0, cut));
      await turns();
      await one.write(bytes.subarray(cut));
      const reply = await one.response();
      assert.equal(reply.status, 200, `cut at ${cut}`);
      assert.equal(json(reply).result, 'aé€😀z', `cut at ${cut}`);
      one.destroy();
    }
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  for (const [method, params] of [
    ['soon', 'x'],
    ['later', 'x'],
    ['large', 5000],
    ['large', 100_000],
    ['large', 5_000_000],
    ['largeBytes', 3_000_000],
  ] as const) {
    test(`the answer of ${method} ${params} to a chunked call is whole`, async (t) => {
      const { client, service } = await start(t);
      const one = client();
      await one.write(inChunks(rpc(method, params)));
      if (method === 'later') {
        await service.entered(1);
        service.held[0]?.release();
      }
      const reply = await one.response();
      assert.equal(reply.status, 200);
      const { result } = json(reply);
      assert.equal(typeof params === 'number' ? Buffer.byteLength(result) : result, params);
      if (transport === 'uws') await one.untilClosed();
      while (service.replyMemory.stats().waiting > 0) await turns();
    });
  }

  test('a chunked notification is 204, a chunked body of nothing is not JSON', async (t) => {
    const { client } = await start(t);
    const reply = await client().ask(inChunks('{"method":"echo"}'));
    assert.equal(reply.status, 204);
    const empty = await client().ask(inChunks(''));
    assert.equal(empty.status, 200);
    assert.equal(json(empty).error.code, -32700);
  });

  test('a chunked body at the limit is taken; one above it is read to its end, and is 413', async (t) => {
    const { client, service } = await start(t, { maxBodyBytes });
    const body = (bytes: number) => rpc('echo', 'x'.repeat(bytes - rpc('echo', '').length));
    assert.equal((await client().ask(inChunks(body(maxBodyBytes), 99))).status, 200);
    for (const bytes of [maxBodyBytes + 1, 8 * maxBodyBytes]) {
      const one = client();
      const reply = await one.ask(inChunks(body(bytes), 99));
      assert.equal(reply.status, 413);
      assert.deepEqual(json(reply).error.data, { limit: maxBodyBytes });
      if (transport === 'node') assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
      else await one.untilClosed();
    }
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  test('a chunked body above eight times the limit is cut, before its end', async (t) => {
    const { client, service } = await start(t, { maxBodyBytes });
    const one = client();
    const all = chunksOf('x'.repeat(8 * maxBodyBytes + 1), 500);
    await one.write(Buffer.concat([head(), all.subarray(0, -'0\r\n\r\n'.length)]));
    assert.equal((await one.response()).status, 413);
    await one.untilClosed();
    assert.equal(service.bodies.length, 0);
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  test('a chunked body takes memory as it comes, whatever its chunks announce, and none when its client goes', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    const { bodyMemory } = service;
    await one.write(Buffer.concat([head(), Buffer.from('900000\r\n'), Buffer.alloc(10_000, 32)]));
    while (bodyMemory.stats().inUse < 10_000) await turns();
    assert.ok(bodyMemory.stats().inUse <= 25_000);
    await one.write(Buffer.alloc(1_000_000, 32));
    while (bodyMemory.stats().inUse < 1_000_000) await turns();
    assert.ok(bodyMemory.stats().inUse <= 2_600_000, `${bodyMemory.stats().inUse}`);
    one.destroy();
    while (bodyMemory.stats().inUse > 0) await turns();
    assert.equal(service.scopes.length, 0);
  });

  test('a chunked body for which there is no memory is 503, and is read to its end', async (t) => {
    const { client, service } = await start(t);
    const { bodyMemory } = service;
    const rest = 50_000;
    assert.ok(bodyMemory.take(bodyMemory.limit - rest));
    const reply = await client().ask(inChunks(rpc('echo', 'x'.repeat(2 * rest)), 9999));
    assert.equal(reply.status, 503);
    assert.equal(json(reply).error.code, -32000);
    assert.equal(bodyMemory.stats().inUse, bodyMemory.limit - rest);
    assert.equal(bodyMemory.stats().refused, 1);
    assert.equal((await client().ask(inChunks(rpc('echo', 1)))).status, 200);
    bodyMemory.give(bodyMemory.limit - rest);
  });

  test('a chunked body that stalls is answered 408 at its deadline and closed', async (t) => {
    const { client, service } = await start(t, { bodyTimeoutMs: 200 });
    const bytes = inChunks(rpc('echo', 'x'), 7);
    const stalls = [bytes.subarray(0, -5), head()].map(async (sent) => {
      const one = client();
      await one.write(sent);
      assert.equal((await one.response()).status, 408);
      await one.untilClosed();
    });
    await Promise.all(stalls);
    assert.equal(service.scopes.length, 0);
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  for (const [name, headers, status] of [
    ['of another type', { 'content-type': 'text/plain' }, 415],
    ['that is compressed', { 'content-encoding': 'gzip' }, 415],
    ['with a time limit that is none', { 'rpc-timeout-ms': '0' }, 400],
  ] as const) {
    test(`a chunked call ${name} is refused, and nothing in it or behind it is run`, async (t) => {
      const { client, service } = await start(t);
      const one = client();
      await one.write(inChunks(smuggled.toString(), 50, headers));
      assert.equal((await one.response()).status, status);
      if (transport === 'uws') await one.untilClosed();
      else assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
      assert.equal(service.scopes.length, transport === 'uws' ? 0 : 1);
    });
  }

  for (const path of ['/healthz', '/nowhere']) {
    test(`chunks are for calls: 411 and closed at ${path}`, async (t) => {
      const { client } = await start(t);
      const one = client();
      await one.write(
        Buffer.concat([head(), chunksOf('{}')])
          .toString()
          .replace('/rpc', path),
      );
      assert.equal((await one.response()).status, 411);
      await one.untilClosed();
    });
  }

  test('a call that comes behind a chunked one: node:http answers it, uWebSockets.js runs neither', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    await one.write(Buffer.concat([inChunks(rpc('echo', 'first')), smuggled]));
    if (transport === 'node') {
      assert.equal(json(await one.response()).result, 'first');
      assert.equal(json(await one.response()).result, 'smuggled');
    } else {
      await one.untilClosed();
      assert.equal(one.received.length, 0);
      assert.equal(service.scopes.length, 0);
    }
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });

  test('trailers that come later than the last chunk are passed over', async (t) => {
    const { client } = await start(t);
    const one = client();
    const body = inChunks(rpc('echo', 'x')).subarray(0, -'\r\n'.length);
    await one.write(body);
    // uWebSockets.js answers without them, and closes.
    if (transport === 'node') await one.write('X-Trailer: 1\r\n\r\n');
    assert.equal(json(await one.response()).result, 'x');
    if (transport === 'node') {
      const lost = client();
      await lost.write(Buffer.concat([body, Buffer.from('Content-Length: 3\r\n\r\n')]));
      assert.equal((await lost.response()).status, 400);
      await lost.untilClosed();
    }
  });

  // uWebSockets.js reads each of these as a shorter body with a request behind it.
  for (const [name, bytes] of [
    ['a trailer', `2\r\n{}\r\n0\r\nX:${smuggled.toString()}`],
    ['a trailer that is a request', `2\r\n{}\r\n0\r\n${smuggled.toString()}`],
    ['marks in place of the last line break', `2\r\n{}\r\n0\r\nXX${smuggled.toString()}`],
    ['line feeds alone', `2\n{}\n0\n\n${smuggled.toString()}`],
    ['an empty size', `\r\n${smuggled.toString()}`],
    ['a blank before the size', ` 5\r\n${smuggled.toString()}`],
  ] as const) {
    for (const parts of ['at once', 'the request later']) {
      test(`nothing behind chunks with ${name} is run, ${parts}`, async (t) => {
        const { client, service } = await start(t);
        const one = client();
        const all = Buffer.concat([head(), Buffer.from(bytes)]);
        const cut = parts === 'at once' ? all.length : all.indexOf('POST /rpc', 10);
        one.socket.write(all.subarray(0, cut));
        await turns();
        one.socket.end(all.subarray(cut));
        await one.untilClosed();
        assert.ok(!one.received.includes('smuggled'), one.received.toString());
        for (const { bytes } of service.bodies) assert.ok(bytes <= 2);
        assert.equal(service.bodyMemory.stats().inUse, 0);
      });
    }
  }
}
