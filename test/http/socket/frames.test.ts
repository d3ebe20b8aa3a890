import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { servers } from '../../servers.ts';
import { turns } from '../../turns.ts';
import { neverHeldLocally, rpc, socketPath } from '../raw-client.ts';
import { starter } from '../stub-server.ts';
import { frame, opcodes, RawSocket } from './raw-socket.ts';

const echo = rpc('echo', { text: 'é' });
const answer = '{"jsonrpc":"2.0","id":1,"result":{"text":"é"}}';

for (const transport of servers) {
  const start = starter(transport);
  describe(`the frames of a WebSocket (${transport})`, () => {
    test('a message may be text or binary, in any number of fragments, with control frames between', async (t) => {
      const { client } = await start(t);
      const socket = await RawSocket.open(client());
      for (const opcode of [opcodes.text, opcodes.binary]) {
        assert.equal(await socket.ask(echo, { opcode }), answer);
        const bytes = Buffer.from(echo);
        for (const [i, byte] of bytes.entries()) {
          const isLast = i === bytes.length - 1;
          await socket.send(Buffer.of(byte), { opcode: i === 0 ? opcode : opcodes.rest, isLast });
          if (i % 10 === 0) await socket.send('between', { opcode: opcodes.ping });
          if (i % 10 === 5) await socket.send('', { opcode: opcodes.rest, isLast: false });
        }
        let pongs = 0;
        for (;;) {
          const { opcode: got, payload } = await socket.frame();
          if (got === opcodes.pong) {
            assert.equal(payload.toString(), 'between');
            pongs++;
            continue;
          }
          assert.deepEqual([got, payload.toString()], [opcodes.text, answer]);
          break;
        }
        // `ws` answers the last of several pings that come in one packet, as RFC 6455, 5.5.3 allows.
        assert.ok(pongs >= 1);
      }
    });

    const wrong: readonly (readonly [what: string, bytes: Buffer, code: number])[] = [
      ['a reserved bit', frame(echo, { reserved: 0x40 }), 1002],
      ['a reserved opcode', frame(echo, { opcode: 3 }), 1002],
      ['a fragmented ping', frame('', { opcode: opcodes.ping, isLast: false }), 1002],
      ['a ping of 126 bytes', frame('x'.repeat(126), { opcode: opcodes.ping }), 1002],
      ['text that is no UTF-8', frame(Buffer.of(0x22, 0xff, 0x22)), 1007],
      ['a half character in text', frame(Buffer.of(0x22, 0xc3)), 1007],
      ['a message over the limit', frame('x'.repeat(1001)), 1009],
      ['the head of a message over the limit', frame('', { length: 2 ** 40 }), 1009],
      [
        'fragments that are over the limit together',
        Buffer.concat([
          frame('x'.repeat(600), { isLast: false }),
          frame('x'.repeat(600), { opcode: opcodes.rest }),
        ]),
        1009,
      ],
      [
        'a new message within a fragmented one',
        Buffer.concat([frame('{', { isLast: false }), frame(echo)]),
        1002,
      ],
    ];
    for (const [what, bytes, code] of wrong) {
      test(`${what} ends the connection, and no other`, async (t) => {
        const { client, server, service } = await start(t, { maxBodyBytes: 1000 });
        const [one, other] = [await RawSocket.open(client()), await RawSocket.open(client())];
        await one.send(rpc('later'));
        await service.entered(1);
        await one.client.write(bytes);
        const got = await one.closeCode();
        // uWebSockets.js closes without a frame, or with one that it does not name.
        assert.ok(
          transport === 'node' ? got === code : [1002, 1006, 1007, 1009].includes(got),
          `${got}`,
        );
        one.destroy();
        while (server.connections > 1) await turns();
        assert.equal(service.held[0]?.scope.cancelled, true, 'its calls stop');
        assert.equal(await other.ask(echo), answer);
        service.held[0]?.release();
        await turns();
        assert.equal(service.bodyMemory.stats().inUse, 0);
      });
    }

    test('a message as long as the limit is taken', async (t) => {
      const { client } = await start(t, { maxBodyBytes: 1000 });
      const socket = await RawSocket.open(client());
      assert.equal(await socket.ask(echo.padEnd(999)), answer);
    });

    test('a frame without a mask does no harm to others', async (t) => {
      const { client } = await start(t);
      const [one, other] = [await RawSocket.open(client()), await RawSocket.open(client())];
      const bytes = frame(rpc('echo', 'x'.repeat(100)), { isMasked: false });
      // uWebSockets.js reads it as if it had a mask, so four bytes are missing. Nothing of that can run.
      await one.client.write(transport === 'uws' ? Buffer.concat([bytes, Buffer.alloc(4)]) : bytes);
      const { opcode, payload } = await one
        .frame()
        .catch(() => ({ opcode: 0, payload: Buffer.of() }));
      assert.ok(opcode !== opcodes.text || payload.includes('-32700'));
      assert.equal(await other.ask(echo), answer);
    });

    test('a close frame is answered, and its calls stop', async (t) => {
      const { client, service, server } = await start(t);
      const socket = await RawSocket.open(client());
      await socket.send(rpc('later'));
      await service.entered(1);
      await socket.send(Buffer.of(1000 >> 8, 1000 & 255), { opcode: opcodes.close });
      const { opcode, payload } = await socket.frame();
      assert.deepEqual([opcode, payload.readUInt16BE()], [opcodes.close, 1000]);
      await socket.client.untilClosed();
      while (server.connections > 0) await turns();
      assert.equal(service.held[0]?.scope.cancelled, true);
    });

    test('nothing is answered to a notification; answers come as their calls end', async (t) => {
      const { client, service } = await start(t);
      const socket = await RawSocket.open(client());
      await socket.send('{"jsonrpc":"2.0","method":"echo"}');
      await socket.send(rpc('later', {}, 'first'));
      await service.entered(1);
      assert.equal(JSON.parse(await socket.ask(rpc('echo', {}, 'second'))).id, 'second');
      service.held[0]?.release();
      assert.equal(JSON.parse(await socket.receive()).id, 'first');
    });

    test('a service that breaks its contract is answered for, and the connection goes on', async (t) => {
      const warnings: string[] = [];
      const { client } = await start(t, { warn: (line) => warnings.push(line) });
      const socket = await RawSocket.open(client());
      const { error } = JSON.parse(await socket.ask(rpc('throws')));
      assert.deepEqual([error.code, error.data], [-32603, { reason: 'the service failed' }]);
      assert.equal(warnings.length, 1);
      assert.equal(await socket.ask(echo), answer);
    });

    test('a client that never reads is closed, and nothing is held for it', async (t) => {
      const { client, server, service } = await start(t, {
        socket: socketPath(),
        maxReplyBytes: neverHeldLocally,
      });
      const socket = await RawSocket.open(client());
      socket.client.socket.pause();
      for (let i = 0; i < 4; i++) await socket.send(rpc('large', neverHeldLocally / 2));
      while (server.connections > 0) await turns();
      assert.equal(service.replyMemory.stats().waiting, 0);
    });

    test('a client that reads too slowly is closed at its deadline', async (t) => {
      const { client, server, service } = await start(t, { bodyTimeoutMs: 100 });
      const socket = await RawSocket.open(client());
      const before = performance.now();
      socket.client.socket.pause();
      // Beyond what the kernel holds, a little is left.
      while (service.replyMemory.stats().waiting === 0) {
        await socket.send(rpc('large', 300_000));
        await turns();
      }
      while (server.connections > 0) await pause(5);
      assert.ok(performance.now() - before >= 100);
      assert.equal(service.replyMemory.stats().waiting, 0);
    });

    test('what clients do not read is bounded for all of them together: the slowest is cut', async (t) => {
      const { client, server, service } = await start(t);
      const { replyMemory } = service;
      const sockets = [await RawSocket.open(client()), await RawSocket.open(client())];
      for (const { client: one } of sockets) one.socket.pause();
      for (const socket of sockets) {
        const { waiting } = replyMemory.stats();
        while (replyMemory.stats().waiting === waiting) {
          await socket.send(rpc('large', 1_000_000));
          await turns();
        }
      }
      assert.equal(server.connections, 2);
      // Somebody else's answer fills the memory.
      const other = { scope: undefined, bytes: replyMemory.limit, pace: 1, cut: () => {} };
      replyMemory.add(other);
      while (server.connections > 0) await turns();
      assert.equal(replyMemory.stats().cut, 2);
      replyMemory.delete(other);
      assert.equal(replyMemory.stats().waiting, 0);
    });

    test('a slow client gets all of what it asked for', async (t) => {
      const { client, service } = await start(t);
      const socket = await RawSocket.open(client());
      socket.client.socket.pause();
      const count = 12;
      for (let id = 0; id < count; id++) await socket.send(rpc('large', 1_000_000, id));
      while (service.scopes.length < count) await turns();
      assert.ok(service.replyMemory.stats().waiting > 0);
      socket.client.socket.resume();
      for (let id = 0; id < count; id++) {
        const reply = JSON.parse(await socket.receive());
        assert.deepEqual([reply.id, reply.result.length], [id, 1_000_000]);
      }
      while (service.replyMemory.stats().waiting > 0) await turns();
    });

    test('a client that pings and reads no pong is closed', async (t) => {
      const { client, server } = await start(t, { maxReplyBytes: 100_000 });
      const socket = await RawSocket.open(client());
      socket.client.socket.pause();
      const pings = Buffer.concat(
        Array.from({ length: 5000 }, () => frame('x'.repeat(125), { opcode: opcodes.ping })),
      );
      // `ws` keeps one pong where several wait, so its memory is bounded, and it goes on.
      const most = transport === 'node' ? 20 : Number.POSITIVE_INFINITY;
      for (let i = 0; i < most && server.connections > 0; i++) {
        await socket.client.write(pings);
        await turns();
      }
      if (transport === 'uws') assert.equal(server.connections, 0);
    });
  });
}
