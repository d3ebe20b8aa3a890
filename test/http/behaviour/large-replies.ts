import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { transferTimeoutMs } from '../../../src/server/http/edge/answer.ts';
import { mockTimeouts } from '../../mock-timeouts.ts';
import { header, json, neverHeldLocally, post, rpc, socketPath } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const large = 20 * 1024 * 1024;
const larger = 8 * 1024 * 1024;

export function largeReplies(start: Start): void {
  for (const bytes of [64 * 1024 - 36, 64 * 1024 - 35, 64 * 1024, 1_000_000, larger]) {
    for (const method of ['large', 'largeBytes']) {
      test(`a reply of ${bytes} bytes is whole: ${method}`, async (t) => {
        const { client } = await start(t);
        const one = client();
        const reply = await one.ask(post(rpc(method, bytes)));
        assert.equal(reply.status, 200);
        assert.equal(header(reply, 'content-type'), 'application/json');
        assert.equal(header(reply, 'access-control-allow-origin'), '*');
        const { result } = json(reply);
        assert.equal(Buffer.byteLength(result), method === 'large' ? bytes : bytes - (bytes % 2));
        // The second on the connection: an offset left over would misplace it.
        assert.equal(json(await one.ask(post(rpc(method, bytes)))).result, result);
      });
    }
  }

  test('a client that reads slowly gets all of a large reply', async (t) => {
    const { client } = await start(t);
    const one = client();
    await one.write(post(rpc('largeBytes', large)));
    // Reads one chunk, then lets the server run into the full socket again.
    for (let i = 0; i < 50; i++) {
      await once(one.socket, 'data');
      one.socket.pause();
      await client().ask(post(rpc('echo')));
      one.socket.resume();
    }
    const { result } = json(await one.response());
    assert.ok(result === 'é'.repeat(large / 2));
  });

  test('a client that does not read is cut at the deadline, and others do not wait for it', async (t) => {
    const { client, server } = await start(t, { socket: socketPath() });
    mockTimeouts(t);
    const one = client();
    await one.write(post(rpc('large', neverHeldLocally)));
    // With its first bytes here, the reply was written, and the timer of its end set.
    await once(one.socket, 'data');
    one.socket.pause();
    assert.equal((await client().ask(post(rpc('echo')))).status, 200);
    // Long enough for the whole reply and its envelope.
    t.mock.timers.tick(transferTimeoutMs(neverHeldLocally + 1000, 10_000));
    one.socket.resume();
    await one.untilClosed();
    assert.ok(one.received.length < neverHeldLocally);
    await server.close();
  });

  test('a client that goes in the middle of a large reply leaves nothing behind', async (t) => {
    const { client, server } = await start(t);
    const one = client();
    await one.write(post(rpc('large', large)));
    await once(one.socket, 'data');
    one.destroy();
    await server.close();
  });
}
