import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { servers } from '../../servers.ts';
import { turns } from '../../turns.ts';
import { rpc } from '../raw-client.ts';
import { starter } from '../stub-server.ts';
import { frame, opcodes, RawSocket, upgradeRequest } from './raw-socket.ts';

/** A socket of which nothing is kept here but what came last. */
async function openIdle(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.write(upgradeRequest());
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.ok(answer.toString('latin1').startsWith('HTTP/1.1 101 '));
  socket.resume();
  return socket;
}

async function openMany(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const next = Array.from({ length: Math.min(100, count - sockets.length) }, () =>
      openIdle(port),
    );
    sockets.push(...(await Promise.all(next)));
  }
  return sockets;
}

for (const transport of servers) {
  const start = starter(transport);
  describe(`many WebSockets (${transport})`, () => {
    test('500 that are idle disturb nobody, and leave nothing behind', async (t) => {
      const { client, server, port, service } = await start(t);
      const idle = await openMany(port, 500);
      const socket = await RawSocket.open(client());
      for (let id = 0; id < 50; id++) {
        assert.equal(JSON.parse(await socket.ask(rpc('echo', {}, id))).id, id);
      }
      assert.deepEqual([server.connections, server.sockets], [501, 501]);
      // Each of them is still served.
      const answered = idle.slice(0, 100).map(async (one) => {
        one.write(frame(rpc('echo', {}, 'late')));
        const [answer] = (await once(one, 'data')) as [Buffer];
        assert.ok(answer.includes('"late"'));
      });
      await Promise.all(answered);
      for (const one of idle) one.destroy();
      while (server.sockets > 1) await turns();
      assert.equal(server.connections, 1);
      assert.equal(service.bodyMemory.stats().inUse, 0);
    });

    test('the end of a server waits for no calls of clients that have gone', async (t) => {
      const { client, server, service } = await start(t);
      const [closing, going] = [await RawSocket.open(client()), await RawSocket.open(client())];
      for (const socket of [closing, going]) {
        for (let id = 0; id < 10; id++) await socket.send(rpc('later', {}, id));
      }
      await service.entered(20);
      await closing.send(Buffer.of(3, 232), { opcode: opcodes.close });
      going.destroy();
      while (server.sockets > 0) await turns();
      // The stub goes on with its calls, and the grace is longer than any test.
      await server.close();
      for (const { scope } of service.held) assert.equal(scope.cancelled, true);
    });

    test('what a client sends behind its close frame is not run', async (t) => {
      const { client, service } = await start(t);
      const socket = await RawSocket.open(client());
      const close = frame(Buffer.of(3, 232), { opcode: opcodes.close });
      await socket.client.write(Buffer.concat([frame(rpc('echo')), close, frame(rpc('echo'))]));
      assert.equal(JSON.parse(await socket.receive()).id, 1);
      await socket.client.untilClosed();
      assert.equal(service.scopes.length, 1);
    });
  });
}
