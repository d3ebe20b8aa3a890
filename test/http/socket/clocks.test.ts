import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { servers } from '../../servers.ts';
import { turns } from '../../turns.ts';
import { rpc } from '../raw-client.ts';
import { starter } from '../stub-server.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';

for (const transport of servers) {
  const start = starter(transport);
  describe(`the clocks of a WebSocket (${transport})`, () => {
    test('a quiet connection is pinged, and stays as long as it answers', async (t) => {
      const options = { streamPingMs: 20, socketIdleMs: 200, bodyTimeoutMs: 1, maxBodyBytes: 1000 };
      const { client, server } = await start(t, options);
      const socket = await RawSocket.open(client());
      const before = performance.now();
      while (performance.now() - before < 1000) {
        const { opcode, payload } = await socket.frame();
        assert.equal(opcode, opcodes.ping);
        await socket.send(payload, { opcode: opcodes.pong });
      }
      assert.equal(server.connections, 1);
      const { error } = JSON.parse(await socket.ask('{'));
      assert.equal(error.code, -32700);
    });

    test("the time in which the main thread was held up is no client's silence", async (t) => {
      const { client, server } = await start(t, { streamPingMs: 50, socketIdleMs: 200 });
      const socket = await RawSocket.open(client());
      for (let id = 0; id < 3; id++) {
        await socket.ask(rpc('echo', 'x', id));
        // A look at the clocks sees that these bytes have come. Then nobody on this thread reads or writes.
        await pause(50);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        await turns();
      }
      assert.equal(server.connections, 1);
      await socket.ask(rpc('echo'));
    });

    test('a message that trickles is cut when no message may take so long, whatever else stands still', async (t) => {
      const options = {
        streamPingMs: 50,
        socketIdleMs: 300,
        bodyTimeoutMs: 200,
        maxBodyBytes: 6400,
      };
      const { client, server } = await start(t, options);
      const before = performance.now();
      const [socket, other] = [await RawSocket.open(client()), await RawSocket.open(client())];
      const bytes = frame(rpc('echo', 'x'.repeat(6000)));
      let sent = 0;
      while (!socket.client.closed) {
        await socket.client.write(bytes.subarray(sent, sent + 1));
        await other.ask(rpc('echo'));
        sent++;
        await pause(20);
      }
      // The silence that is allowed, and 6400 bytes at 64 KiB a second.
      assert.ok(performance.now() - before >= 300 + 200 + 98);
      assert.ok(sent < bytes.length);
      assert.equal(server.connections, 1);
    });

    test('messages that are not whole are bounded for all clients together; those who wait are left alone', async (t) => {
      const maxBodyBytes = 4 * 1024 ** 2;
      const options = { streamPingMs: 100, socketIdleMs: 60_000, maxBodyBytes };
      const { server, service, port } = await start(t, options);
      service.limitBodies(4, maxBodyBytes);
      const sockets: RawSocket[] = [];
      t.after(() => {
        for (const socket of sockets) socket.destroy();
      });
      const open = async () => {
        const socket = await RawSocket.connect(port);
        sockets.push(socket);
        return socket;
      };
      const waiting = [await open(), await open()];
      const answering = waiting.map((socket) => socket.receive().catch(() => {}));
      const half = frame('x'.repeat(maxBodyBytes)).subarray(0, -1);
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          const socket = await open();
          await socket.client.write(half);
        }),
      );
      while (server.sockets > 2 + 4) await pause(10);
      for (const socket of waiting) assert.equal(socket.client.closed, false);
      for (const socket of waiting) await socket.send(rpc('echo'));
      await Promise.all(answering);
    });

    if (transport === 'node') {
      test('control frames between fragments keep no half message alive', async (t) => {
        const options = {
          streamPingMs: 50,
          socketIdleMs: 300,
          bodyTimeoutMs: 200,
          maxBodyBytes: 6400,
        };
        const { client } = await start(t, options);
        const socket = await RawSocket.open(client());
        await socket.send('{', { isLast: false });
        while (!socket.client.closed) {
          await socket.send('x', { isLast: false, opcode: opcodes.rest });
          await socket.send('', { opcode: opcodes.pong });
          await pause(20);
        }
      });
    }

    test('a connection that is silent is closed', { timeout: 60_000 }, async (t) => {
      // uWebSockets.js has a clock of its own, of 8 s at least.
      const { client, server } = await start(t, { streamPingMs: 50, socketIdleMs: 300 });
      const socket = await RawSocket.open(client());
      // Half a message: nobody else knows of it.
      await socket.client.write(frame(rpc('echo')).subarray(0, 10));
      assert.equal(await socket.closeCode(), 1006);
      while (server.connections > 0) await pause(5);
    });

    test('no ping is sent where streamPingMs is 0', async (t) => {
      const { client } = await start(t, { streamPingMs: 0, bodyTimeoutMs: 4 });
      const socket = await RawSocket.open(client());
      await pause(300);
      assert.equal(socket.client.received.length, 0);
      assert.equal(JSON.parse(await socket.ask(rpc('echo'))).id, 1);
    });
  });
}
