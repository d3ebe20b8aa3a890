import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { mockTimeouts } from '../../mock-timeouts.ts';
import { turns } from '../../turns.ts';
import { header, json, post, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

export function drain(start: Start): void {
  test('close(), called again and again, refuses new connections, answers what is in flight and tells each connection to close', async (t) => {
    const { client, service, server, port } = await start(t);
    const clients = Array.from({ length: 5 }, client);
    await Promise.all(clients.map((one, i) => one.write(post(rpc('later', i)))));
    await service.entered(5);
    let over = false;
    const closing = Promise.all([server.close(), server.close()]).then(() => {
      over = true;
    });
    await turns();
    assert.equal(over, false);
    const [error] = await once(connect(port, '127.0.0.1'), 'error');
    assert.equal(error.code, 'ECONNREFUSED');
    for (const { release } of service.held) release();
    const replies = await Promise.all(clients.map((one) => one.response()));
    assert.deepEqual(
      replies.map((reply) => json(reply).result),
      [0, 1, 2, 3, 4],
    );
    for (const reply of replies) assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
    await closing;
    await server.close();
    await Promise.all(clients.map((one) => one.untilClosed()));
  });

  test('a request whose body is on its way is answered during close()', async (t) => {
    const { client, server, service } = await start(t);
    const one = client();
    const bytes = post(rpc('echo', 'x'));
    await one.write(bytes.subarray(0, -5));
    await client().ask(post(rpc('echo')));
    const closing = server.close();
    await turns();
    assert.equal(service.bodies.length, 1);
    const reply = await one.ask(bytes.subarray(-5));
    assert.equal(json(reply).result, 'x');
    assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
    await closing;
  });

  for (const [name, bytes, status] of [
    ['a call', post(rpc('echo')), 200],
    ['a promise kept at once', post(rpc('soon')), 200],
    ['a notification', post('{"method":"echo"}'), 204],
    ['a large reply', post(rpc('large', 5_000_000)), 200],
    ['a rejection', post('{}', { 'content-type': 'text/plain' }), 415],
    ['a document', request('GET', '/rpc'), 200],
  ] as const) {
    test(`while draining, ${name} on an open connection is answered and told to close`, async (t) => {
      const { client, service, server } = await start(t);
      const [busy, one] = [client(), client()];
      // Its body is on its way: not idle, and not in a handler.
      await one.write(bytes.slice(0, bytes.length - 3));
      await busy.write(post(rpc('later')));
      await service.entered(1);
      await turns();
      const closing = server.close();
      const reply = await one.ask(bytes.slice(bytes.length - 3));
      assert.equal(reply.status, status);
      assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
      service.held[0]?.release();
      assert.equal((await busy.response()).status, 200);
      await closing;
    });
  }

  test('while draining, pipelined calls are all answered', async (t) => {
    const { client, service, server } = await start(t);
    const [busy, one] = [client(), client()];
    const first = post(rpc('soon', 0, 0));
    await one.write(first.subarray(0, -1));
    await busy.write(post(rpc('later')));
    await service.entered(1);
    await turns();
    const closing = server.close();
    // More than what uWebSockets.js gathers before it writes, and that twice.
    const count = 60;
    const rest = Array.from({ length: count }, (_, i) => post(rpc('soon', 'x'.repeat(500), i + 1)));
    await one.write(Buffer.concat([first.subarray(-1), ...rest]));
    for (let id = 0; id < count; id++) assert.equal(json(await one.response()).id, id);
    const last = await one.response();
    assert.equal(json(last).id, count);
    assert.equal(header(last, 'connection')?.toLowerCase(), 'close');
    service.held[0]?.release();
    await closing;
    await one.untilClosed();
  });

  test('after the grace what still runs is cut and cancelled', async (t) => {
    const { client, service, server } = await start(t, { shutdownGraceMs: 1000 });
    const one = client();
    await one.write(post(rpc('later')));
    await service.entered(1);
    mockTimeouts(t);
    const closing = server.close();
    t.mock.timers.tick(1000);
    await closing;
    await one.untilClosed();
    assert.equal(one.received.length, 0);
    assert.equal(service.held[0]?.scope.cancelled, true);
  });
}
