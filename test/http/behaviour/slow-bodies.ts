import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turns } from '../../turns.ts';
import { json, post, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

export function slowBodies(start: Start): void {
  test('a body that stalls is answered 408 at its deadline and closed, its memory given back, and others are served', async (t) => {
    const { client, service } = await start(t, { bodyTimeoutMs: 200 });
    const [stalls, only] = [client(), client()];
    const bytes = post(rpc('echo'));
    await stalls.write(bytes.subarray(0, bytes.length - 5));
    // Of this one the head alone has come.
    await only.write(bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4));
    while (service.bodyMemory.stats().inUse === 0) await turns();
    assert.equal((await client().ask(post(rpc('echo')))).status, 200);
    for (const slow of [stalls, only]) {
      const reply = await slow.response();
      assert.equal(reply.status, 408);
      const { id, error } = json(reply);
      assert.deepEqual([id, error.code], [null, -32600]);
      await slow.untilClosed();
    }
    assert.equal(service.bodyMemory.stats().inUse, 0);
    assert.equal(service.scopes.length, 1);
  });

  test('a body that trickles is no better off, and what comes behind the deadline runs nothing', async (t) => {
    const { client, service } = await start(t, { bodyTimeoutMs: 200 });
    const slow = client();
    const bytes = post(rpc('echo').padEnd(100_000));
    // Large enough for a second and a half of its own.
    let sent = bytes.length - 90_000;
    await slow.write(bytes.subarray(0, sent));
    let over = false;
    const reply = slow.response().finally(() => {
      over = true;
    });
    while (!over) {
      slow.socket.write(bytes.subarray(sent, sent + 10));
      sent += 10;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal((await reply).status, 408);
    slow.socket.write(bytes.subarray(sent));
    await slow.untilClosed();
    assert.equal(service.scopes.length, 0);
    assert.equal(service.bodyMemory.stats().inUse, 0);
  });
}
