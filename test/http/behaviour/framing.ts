import assert from 'node:assert/strict';
import { test } from 'node:test';
import { post, type RawClient, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const call = rpc('echo', 'x');
/** Served only by a server that lost its place: it stands where the refused request's body is. */
const smuggled = post(rpc('echo', 'smuggled', 'smuggled'));

async function closesAfter(one: RawClient, bytes: string | Uint8Array, status: number) {
  await one.write(bytes);
  await one.untilClosed();
  const reply = await one.response();
  assert.equal(reply.status, status);
  assert.equal(one.received.toString(), '', 'one reply and no other');
  return reply;
}

export function framing(start: Start, transport: 'uws' | 'node'): void {
  test('transfer-encoding is refused on every route', async (t) => {
    const { client } = await start(t);
    for (const path of ['/rpc', '/healthz', '/nowhere']) {
      const bytes = request('GET', path, ['transfer-encoding: chunked']);
      const one = client();
      await one.write(bytes);
      await one.untilClosed();
      assert.equal((await one.response()).status, 411);
    }
  });

  test('a HEAD whose length is in doubt closes too', async (t) => {
    const { client, service } = await start(t);
    const head = request('HEAD', '/rpc', ['content-length: 2', 'content-length: 5']);
    await closesAfter(client(), Buffer.concat([Buffer.from(`${head}{}`), smuggled]), 400);
    assert.equal(service.bodies.length, 0);
  });

  test('an Expect that nobody knows is passed over', async (t) => {
    const { client } = await start(t);
    for (const expect of ['200-ok', '', 'x, y']) {
      assert.equal((await client().ask(post(call, { expect }))).status, 200, expect);
    }
  });

  test('more headers than uWebSockets.js holds: never entered, 4xx or silence; node:http answers 431', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`x-${i}`, 'a']));
    await one.write(post(call, many));
    if (transport === 'node') {
      assert.equal((await one.response()).status, 431);
    } else {
      // Its binary for Node 20 is silent until its idle timeout, or until the client gives up; newer ones answer.
      one.socket.end();
      await one.untilClosed();
      assert.match(one.received.toString(), /^(HTTP\/1\.1 4|$)/);
    }
    assert.equal(service.bodies.length, 0);
  });
}
