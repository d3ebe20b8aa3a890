import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { post } from '../../raw-client.ts';
import { type EventCase, valueEvent } from '../case.ts';
import { accepting } from '../event-client.ts';
import { rpc } from '../stage.ts';

/** What is special about the connection of a stream. */
export const connections: readonly EventCase[] = [
  {
    name: 'a request behind an open stream: uWebSockets.js closes the connection, node:http answers it after the end',
    async run(stage) {
      const client = stage.client();
      const method = stage.isUws ? 'quiet' : 'count';
      const stream = post(rpc(method, stage.isUws ? undefined : { to: 50 }), accepting);
      client.write(Buffer.concat([stream, post(rpc('plain', undefined, 2))]));
      if (stage.isUws) {
        await client.untilClosed();
        return;
      }
      assert.equal((await client.events()).length, 51);
      client.nextReply();
      assert.equal(JSON.parse(await client.end()).id, 2);
    },
  },
  {
    name: 'a client that wants its connection closed gets all of the stream first',
    async run(stage) {
      const client = stage.client();
      client.send(rpc('count', { to: 200 }), { connection: 'close' });
      assert.equal((await client.events()).length, 201);
      await client.untilClosed();
    },
  },
  {
    name: 'HTTP/1.0: the body ends with the connection; uWebSockets.js refuses it',
    async run(stage) {
      const client = stage.client();
      const request = post(rpc('count', { to: 2 }), accepting).toString();
      client.write(request.replace('HTTP/1.1', 'HTTP/1.0'));
      await client.untilClosed();
      if (stage.isUws) {
        assert.equal(client.status, 505);
        return;
      }
      assert.equal(client.header('transfer-encoding'), undefined);
      const values = [0, 1].map((value) => valueEvent('count', '1', value)).join('');
      assert.equal(client.text, `${values}data: {"jsonrpc":"2.0","id":1,"result":"all"}\n\n`);
    },
  },
  {
    name: 'a client that ends its side is gone',
    async run(stage) {
      const client = stage.client();
      client.send(rpc('quiet'));
      await client.event();
      client.socket.end();
      await stage.untilClosed();
      await client.untilClosed();
    },
  },
  {
    name: 'many streams at once, of which none waits for another',
    async run(stage) {
      const clients = Array.from({ length: 20 }, () => stage.client());
      for (const client of clients) client.send(rpc('count', { to: 300 }));
      const all = await Promise.all(clients.map((client) => client.events()));
      for (const events of all) assert.equal(events.length, 301);
      await nextTurn();
      assert.equal(stage.closed.length, 20);
    },
  },
];
