import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import type { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { turns } from '../../turns.ts';
import { header, json, post, type RawClient, request, rpc } from '../raw-client.ts';
import { RawSocket } from '../socket/raw-socket.ts';
import type { Start } from '../stub-server.ts';

function cancelled(scope: RequestScope): Promise<void> {
  return new Promise((resolve) => {
    if (scope.cancelled) resolve();
    else scope.addListener({ onCancelled: resolve });
  });
}

export function connections(start: Start, transport: 'uws' | 'node'): void {
  test('a client that ends its side has gone: what waits is cancelled, what is answered at once arrives', async (t) => {
    const { client, service, server } = await start(t);
    // Over TLS uWebSockets.js reads the client's farewell together with its request, and closes before it answers.
    const isHeard = transport === 'node' || !(client().socket instanceof TLSSocket);
    for (const isWithIt of isHeard ? [true, false] : [false]) {
      const quick = client();
      if (isWithIt) quick.socket.end(post(rpc('echo', 'x')));
      else {
        await quick.write(post(rpc('echo', 'x')));
        if (!isHeard) await quick.response();
        quick.socket.end();
      }
      if (isHeard) assert.equal((await quick.response()).status, 200);
      await quick.untilClosed();
      const asking = client();
      asking.socket.end(request('GET', '/rpc'));
      if (isHeard) assert.equal((await asking.response()).status, 200);
      const slow = client();
      await slow.write(post(rpc('later')));
      const held = service.held.length + 1;
      if (isWithIt) slow.socket.end();
      await service.entered(held);
      if (!isWithIt) slow.socket.end();
      const { scope, release } = service.held[held - 1]!;
      await cancelled(scope);
      release();
      await slow.untilClosed();
      assert.equal(slow.received.length, 0);
    }
    await server.close();
  });

  // uWebSockets.js looks at its clocks every 4 s, and lets 10 s pass: these tests wait side by side.
  describe('clocks of connections', { concurrency: 8 }, () => {
    for (const [what, between] of [
      ['an empty line between requests', '\r\n'],
      ['a line feed between requests', '\n'],
      ['a carriage return between requests', '\r'],
      ['two empty lines that come alone', '\r\n\r\n'],
    ] as const) {
      test(`${what}: node:http passes over it, uWebSockets.js answers 4xx, 5xx or nothing, and closes`, async (t) => {
        const { client, service } = await start(t);
        const one = client();
        assert.equal((await one.ask(post(rpc('echo', 1)))).status, 200);
        if (transport === 'node') {
          assert.equal((await one.ask(between + post(rpc('echo', 2)).toString())).status, 200);
          assert.equal(json(await one.ask(post(rpc('echo', 3)))).result, 3);
          return;
        }
        await one.write(between + post(rpc('echo', 2)).toString());
        await one.untilClosed();
        assert.match(one.received.toString(), /^(HTTP\/1\.1 [45]|$)/);
        assert.equal(service.bodies.length, 1);
      });
    }

    test('who stalls before a request, in its head or behind it is closed, a trickle changes nothing', async (t) => {
      const { client, service, server } = await start(t, { keepAliveTimeoutMs: 1000 });
      const body = post(rpc('echo', 'x'.repeat(1000)));
      const silent = client();
      const idle = client();
      assert.equal((await idle.ask(post(rpc('echo')))).status, 200);
      const stalled = client();
      await stalled.write(body.subarray(0, 40));
      const trickling = client();
      await trickling.write('POST /rpc HTTP/1.1\r\nhost: test\r\n');
      const trickle = setInterval(() => trickling.socket.write('x-a: 1\r\n'), 1000);
      t.after(() => clearInterval(trickle));
      const all = [silent, idle, stalled, trickling];
      // node:http gives a body the time that its request may take, 120 s.
      if (transport === 'uws') {
        const inBody = client();
        await inBody.write(body.subarray(0, body.length - 1));
        all.push(inBody);
      }
      await Promise.all(all.map((one) => one.untilClosed()));
      assert.equal(service.bodies.length, 1);
      while (server.connections > 0) await turns();
    });
  });

  test('an answered call is not cancelled when its client goes', async (t) => {
    const { client, service, server } = await start(t);
    const one = client();
    await one.ask(post(rpc('soon')));
    one.destroy();
    await server.close();
    assert.equal(service.scopes[0]?.cancelled, false);
  });

  test('pipelined behind a pending reply: node:http keeps the order, uWebSockets.js closes', async (t) => {
    const { client, service, server } = await start(t);
    const one = client();
    await one.write(Buffer.concat([post(rpc('later', 'a', 1)), post(rpc('echo', 'b', 2))]));
    await service.entered(1);
    const { scope, release } = service.held[0]!;
    if (transport === 'node') {
      release();
      assert.equal(json(await one.response()).id, 1);
      assert.equal(json(await one.response()).id, 2);
    } else {
      await one.untilClosed();
      await cancelled(scope);
      release();
      assert.equal(one.received.length, 0);
    }
    await server.close();
  });

  test('a client that goes cancels what it pipelined, too', async (t) => {
    const { client, service, server } = await start(t);
    const one = client();
    await one.write(Buffer.concat([post(rpc('later', 'a', 1)), post(rpc('later', 'b', 2))]));
    await service.entered(transport === 'node' ? 2 : 1);
    one.destroy();
    await Promise.all(service.held.map(({ scope }) => cancelled(scope)));
    for (const { release } of service.held) release();
    await server.close();
  });

  for (const method of ['echo', 'soon', 'later']) {
    test(`connection: close is kept to: ${method}`, async (t) => {
      const { client, service, server } = await start(t);
      const one = client();
      await one.write(post(rpc(method, 'x'.repeat(40_000)), { connection: 'close' }));
      if (method === 'later') {
        await service.entered(1);
        service.held[0]?.release();
      }
      assert.equal((await one.response()).status, 200);
      await one.untilClosed();
      await server.close();
    });
  }

  test('what is sent behind a request that closes is not served and counts for nothing', async (t) => {
    const { client, service, server } = await start(t);
    const one = client();
    const closing = post(rpc('large', 40_000), { connection: 'close' });
    await one.write(Buffer.concat([closing, post(rpc('echo')), post(rpc('echo'))]));
    await one.untilClosed();
    // It would wait for its grace if one of them had been entered on the closed socket.
    await server.close();
    assert.equal(service.bodies.length, 1);
  });

  test('one connection serves many requests of all kinds', async (t) => {
    const { client } = await start(t);
    const one = client();
    for (let i = 0; i < 20; i++) {
      assert.equal((await one.ask(post(rpc('echo', i)))).status, 200);
      assert.equal((await one.ask(post(rpc('soon', i)))).status, 200);
      assert.equal((await one.ask(post('{"method":"echo"}'))).status, 204);
      assert.equal((await one.ask(post(rpc('large', 200_000)))).status, 200);
      assert.equal((await one.ask(post('', { 'content-type': 'text/plain' }))).status, 415);
      assert.equal((await one.ask(request('GET', '/rpc'))).status, 200);
      assert.equal((await one.ask(request('HEAD', '/rpc'), true)).status, 200);
      assert.equal((await one.ask(request('OPTIONS', '/rpc'))).status, 204);
      assert.equal((await one.ask(request('GET', '/nowhere'))).status, 404);
    }
    assert.equal(
      header(await one.ask(post(rpc('echo'))), 'connection')?.toLowerCase() === 'close',
      false,
    );
  });

  test('connections above the limit are closed at once, and one that ends makes room', async (t) => {
    const { client, service } = await start(t, { maxConnections: 2 });
    const [first, second] = [client(), client()];
    // Asked to close by its client: when the client sees the end, the server has counted it out.
    await first.write(post(rpc('later'), { connection: 'close' }));
    await second.write(post(rpc('later')));
    await service.entered(2);
    const third = client();
    // If it was let in, it would have an answer.
    third.socket.write(post(rpc('echo')));
    await third.untilClosed();
    assert.equal(third.received.length, 0);
    for (const { release } of service.held) release();
    await first.untilClosed();
    assert.equal((await second.response()).status, 200);
    const fourth = client();
    await once(fourth.socket, 'connect');
    assert.equal((await fourth.ask(post(rpc('echo')))).status, 200);
  });

  if (transport === 'uws') return;

  test('a new connection above the limit takes the place of the one that is idle longest, not of a busy one or a WebSocket', async (t) => {
    const { client, service } = await start(t, { maxConnections: 4 });
    const [busy, older, newer] = [client(), client(), client()];
    for (const one of [busy, older, newer]) await one.ask(post(rpc('echo')));
    const socket = client();
    await socket.ask(post(rpc('echo')));
    await RawSocket.open(socket);
    await busy.write(post(rpc('later')));
    await service.entered(1);
    // The fifth, the sixth.
    for (const evicted of [older, newer]) {
      assert.equal(evicted.closed, false);
      const next = client();
      await next.write(post(rpc('later')));
      await evicted.untilClosed();
    }
    await service.entered(3);
    const refused = client();
    await refused.untilClosed();
    for (const { release } of service.held) release();
    assert.equal((await busy.response()).status, 200);
    assert.equal(socket.closed, false);
  });

  test('an address that holds its share of the connections loses its own idle ones, and no other does', async (t) => {
    const { client } = await start(t, { maxConnections: 100 });
    const other = client();
    await other.ask(post(rpc('echo')));
    const greedy: RawClient[] = [];
    for (let i = 0; i < 120; i++) {
      const one = client('127.0.0.9');
      greedy.push(one);
      assert.equal((await one.ask(post(rpc('echo')))).status, 200);
    }
    // The last ones that were closed hear of it later than the last one that was answered.
    while (greedy.filter(({ closed }) => !closed).length > 90) await turns();
    assert.equal(greedy[0]?.closed, true);
    assert.equal((await other.ask(post(rpc('echo')))).status, 200);
  });

  test('keepAliveTimeoutMs: an idle connection is kept for 75 s by default, and clients are told', async (t) => {
    const { client } = await start(t);
    const reply = await client().ask(post(rpc('echo')));
    assert.equal(header(reply, 'keep-alive'), 'timeout=75');
    const { client: another } = await start(t, { keepAliveTimeoutMs: 20 });
    const idle = another();
    await idle.ask(post(rpc('echo')));
    await idle.untilClosed();
  });
}
