/** How tandem call reads events, and one WebSocket, where no command shows it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { WebSocketServer } from 'ws';
import { boundedEventsOf, callSocket } from '../../src/cli/tools/call.ts';

describe('the reader of events', () => {
  it('cuts a server that never ends an event, and counts each event anew', async () => {
    const event = `data: ${'x'.repeat(92)}\n\n`;
    const read = async (text: string) => {
      const pieces = text.match(/.{1,50}/gs) ?? [];
      const reader = {
        read: async () => {
          const piece = pieces.shift();
          return { done: piece === undefined, value: Buffer.from(piece ?? '') };
        },
      };
      const events: string[] = [];
      const stream = { getReader: () => reader };
      for await (const data of boundedEventsOf(stream, 150)) events.push(data);
      return events.length;
    };
    assert.equal(await read(event.repeat(3)), 3);
    await assert.rejects(
      read(`data: ${'x'.repeat(200)}`),
      /^Error: an event is longer than 150 bytes$/,
    );
  });
});

describe('a call over a WebSocket', () => {
  it('leaves no socket behind that only a timer would end', async (t) => {
    // Neither side's timer ends the connection: it ends because both say so.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    t.after(() => server.close());
    const closed = once(server, 'connection').then(([socket]) => {
      socket.once('message', () => socket.send('{"jsonrpc":"2.0","id":1,"result":5}'));
      return once(socket, 'close');
    });
    await once(server, 'listening');
    const call = { method: 'five', params: undefined, notify: false };
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const outcome = await callSocket(
      url,
      call,
      { headers: {}, timeoutMs: undefined },
      async () => {},
      new AbortController().signal,
    );
    assert.equal(outcome?.ok, true);
    assert.equal((await closed)[0], 1005);
  });
});
