import assert from 'node:assert/strict';
import type { EventCase } from '../case.ts';
import { rpc } from '../stage.ts';

const reason = 'it streams: accept text/event-stream, or use WebSocket';

/** Who gets events, and what the others get. */
export const asking: readonly EventCase[] = [
  {
    name: 'only an Accept that names text/event-stream gets events',
    async run(stage) {
      for (const [accept, isTaken] of [
        ['text/event-stream', true],
        ['application/json, text/event-stream', true],
        ['*/*, TEXT/Event-Stream;charset=utf-8 ; q=0.5', true],
        ['text/plain;x="a, b;\\"", text/event-stream;q=1.000', true],
        ['text/event-stream;q=0', false],
        ['text/event-stream ; q=0.000, application/json', false],
        ['text/event-streams', false],
        ['text/plain;x="text/event-stream', false],
        ['text/*', false],
        ['*/*', false],
        [undefined, false],
      ] as const) {
        const client = stage.client();
        client.send(rpc('count', { to: 1 }), { accept });
        const text = await client.end();
        const type = isTaken ? 'text/event-stream' : 'application/json';
        assert.equal(client.status, 200);
        assert.equal(client.header('content-type'), type, accept);
        if (!isTaken) {
          const data = { method: 'count', reason };
          assert.deepEqual(JSON.parse(text).error, {
            code: -32601,
            message: 'Method not found',
            data,
          });
        }
      }
    },
  },
  {
    name: 'what fails before the stream opens is the ordinary reply',
    options: { maxStreams: 1, maxBatch: 2 },
    async run(stage) {
      const open = stage.client();
      open.send(rpc('quiet'));
      await open.event();
      const ask = async (body: string, headers = {}) => {
        const client = stage.client();
        client.send(body, headers);
        const text = await client.end();
        assert.equal(client.header('content-type'), 'application/json');
        return { status: client.status, ...JSON.parse(text) };
      };
      const codeOf = async (body: string) => (await ask(body)).error.code;
      const full = await ask(rpc('count', { to: 1 }));
      const data = { reason: 'streams', limit: 'maxStreams', retryAfterMs: 1000, retry: true };
      assert.deepEqual([full.error.code, full.error.data], [-32000, data]);
      open.destroy();
      await stage.untilClosed();
      assert.equal(await codeOf(rpc('count', { to: 'x' })), -32602);
      assert.equal(await codeOf(rpc('nobody')), -32601);
      assert.equal(await codeOf(rpc('none')), -32603);
      assert.equal(await codeOf('{'), -32700);
      assert.equal((await ask(rpc('plain'))).result, 7);
      assert.equal((await ask('{}', { 'content-type': 'text/plain' })).status, 415);
      assert.equal((await ask('{}', { 'rpc-timeout-ms': 'x' })).status, 400);
    },
  },
  {
    name: 'a batch has no streams: they are collected, or refused in their place',
    async run(stage) {
      const client = stage.client();
      client.send(`[${rpc('few')},${rpc('count', { to: 1 }, 2)},${rpc('plain', undefined, 3)}]`);
      const replies = JSON.parse(await client.end());
      assert.deepEqual(replies[0].result, [1, 'two', { three: 3 }]);
      assert.deepEqual(replies[1].error.data, { method: 'count', reason });
      assert.equal(replies[2].result, 7);
      client.send(`[${rpc('count', { to: 1 })}]`);
      assert.equal(JSON.parse(await client.end())[0].error.code, -32601);
      client.send(rpc('few'), { accept: 'application/json' });
      assert.deepEqual(JSON.parse(await client.end()).result, [1, 'two', { three: 3 }]);
      client.send(rpc('few'));
      assert.equal((await client.events()).length, 4);
    },
  },
  {
    name: 'a collected stream is held to maxReplyBytes and to the deadline',
    options: { maxReplyBytes: 1000 },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('endless'), { accept: undefined });
      const { error } = JSON.parse(await client.end());
      assert.deepEqual([error.code, error.data], [-32004, { limit: 1000 }]);
      await stage.untilClosed();
      const { given } = stage;
      // On a busy machine its time may be over before it has begun: then it never runs.
      for (let timeoutMs = 50; stage.given === given; timeoutMs *= 2) {
        client.send(rpc('waits'), { accept: undefined, 'rpc-timeout-ms': `${timeoutMs}` });
        const late = JSON.parse(await client.end()).error;
        assert.deepEqual([late.code, late.data], [-32001, { timeoutMs }]);
      }
      await stage.untilClosed(2);
    },
  },
  {
    name: 'a notification runs nothing, 204; a body of many bytes is read as any other',
    async run(stage) {
      const client = stage.client();
      client.send('{"jsonrpc":"2.0","method":"count","params":{"to":1}}');
      await client.end();
      assert.equal(client.status, 204);
      assert.equal(stage.given, 0);
      const padding = ' '.repeat(300_000);
      client.send(`{"jsonrpc":"2.0","id":1,${padding}"method":"count","params":{"to":2}}`);
      assert.equal((await client.events()).length, 3);
    },
  },
  {
    name: 'GET and HEAD with such an Accept get the document',
    async run(stage) {
      const client = stage.client();
      client.write('GET /rpc HTTP/1.1\r\nhost: test\r\naccept: text/event-stream\r\n\r\n');
      assert.ok('count' in JSON.parse(await client.end()));
      const raw = stage.raw();
      const head = await raw.ask(
        'HEAD /rpc HTTP/1.1\r\nhost: test\r\naccept: text/event-stream\r\n\r\n',
        true,
      );
      assert.equal(head.status, 200);
    },
  },
];
