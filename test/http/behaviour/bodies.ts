import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, json, post, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const maxBodyBytes = 1000;

/** A call whose body takes exactly `bytes`. */
function callOf(bytes: number): string {
  const empty = rpc('echo', '');
  return rpc('echo', 'a'.repeat(bytes - empty.length));
}

export function bodies(start: Start): void {
  for (const bytes of [64 * 1024, 64 * 1024 + 1, 100_000]) {
    test(`a body of ${bytes} bytes is whole`, async (t) => {
      const { client, service } = await start(t);
      const body = callOf(bytes);
      const reply = await client().ask(post(body));
      assert.equal(json(reply).result, JSON.parse(body).params);
      if (bytes <= 64 * 1024) return;
      assert.equal(service.bodies[0]?.shared, true);
      // Still there after the reply: a large one may be on its way to a worker.
      assert.equal(Buffer.from(service.lastBody as Uint8Array).toString(), body);
    });
  }

  test('an empty body is handed over: it is not JSON', async (t) => {
    const { client } = await start(t);
    const reply = await client().ask(post(''));
    assert.equal(reply.status, 200);
    assert.equal(json(reply).error.code, -32700);
  });

  for (const bytes of [maxBodyBytes + 1, 8 * maxBodyBytes]) {
    test(`a body of ${bytes} for ${maxBodyBytes}: 413, passed over, the connection goes on`, async (t) => {
      const { client, service } = await start(t, { maxBodyBytes });
      const one = client();
      const reply = await one.ask(post(callOf(bytes)));
      assert.equal(reply.status, 413);
      assert.equal(header(reply, 'access-control-allow-origin'), '*');
      assert.deepEqual(json(reply), {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32004, message: 'Limit exceeded', data: { limit: maxBodyBytes } },
      });
      assert.equal(service.bodies.length, 0);
      assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
    });
  }

  test('a body above eight times the limit: 413 and closed', async (t) => {
    const { client, service } = await start(t, { maxBodyBytes });
    const one = client();
    // The headers alone: the server does not wait for what it will not read.
    await one.write(post('', { 'content-length': String(8 * maxBodyBytes + 1) }));
    await one.untilClosed();
    const reply = await one.response();
    assert.equal(reply.status, 413);
    assert.equal(json(reply).error.code, -32004);
    assert.equal(service.bodies.length, 0);
  });

  test('a 413 is seen by a client that first writes all of its large body', async (t) => {
    const { client } = await start(t, { maxBodyBytes: 1024 * 1024 });
    const one = client();
    await one.write(post(Buffer.alloc(5 * 1024 * 1024, 32)));
    assert.equal((await one.response()).status, 413);
    assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
  });
}
