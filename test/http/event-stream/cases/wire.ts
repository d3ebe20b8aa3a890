import assert from 'node:assert/strict';
import { texts } from '../../../texts.ts';
import { type EventCase, valueEvent } from '../case.ts';
import { rpc } from '../stage.ts';

/** Headers that come from the server rather than from this service. */
const serversOwn = /^(?:date|uwebsockets|connection|keep-alive|transfer-encoding|x-powered-by):/i;

const end = (id: string, result: unknown) =>
  `data: {"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}\n\n`;

/** The bytes of a stream: docs/protocol.md, "Server-sent events". */
export const wire: readonly EventCase[] = [
  {
    name: 'each value is an event, and the last event is the reply of the call',
    async run(stage) {
      const client = stage.client();
      client.send(rpc('count', { to: 3 }));
      const values = [0, 1, 2].map((value) => valueEvent('count', '1', value));
      assert.equal(await client.end(), values.join('') + end('1', 'all'));
      const [status, ...lines] = client.head.split('\r\n');
      assert.equal(status, 'HTTP/1.1 200 OK');
      assert.deepEqual(lines.filter((line) => !serversOwn.test(line)).sort(), [
        'access-control-allow-origin: *',
        'cache-control: no-store',
        'content-type: text/event-stream',
        'x-accel-buffering: no',
      ]);
    },
  },
  {
    name: 'the id is echoed to the letter, and a name of subscribing notifies by its own name',
    async run(stage) {
      for (const id of ['"\\u0061"', '-0', '1.50', '""', '12345678901234567890', 'null']) {
        for (const [method, notification] of [
          ['price_subscribe', 'price_subscription'],
          ['dialect', 'slotNotification'],
        ] as const) {
          const client = stage.client();
          client.send(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`);
          const text = await client.end();
          assert.equal(text, valueEvent(notification, id, 7) + end(id, null));
        }
      }
    },
  },
  {
    name: 'é, ÿ, C1 and wide characters arrive as UTF-8 in values and in the last error',
    async run(stage) {
      for (const lines of [...texts.map((text) => [text]), texts]) {
        const client = stage.client();
        client.send(rpc('say', { lines }));
        const events = await client.events();
        const values = events.slice(0, -1).map(({ params }) => params?.result);
        assert.deepEqual(values, lines);
        assert.deepEqual(events.at(-1)?.error, { code: 17, message: lines.join('') });
      }
    },
  },
  {
    name: 'thousands of values come in order, and the connection serves the next request',
    async run(stage) {
      const client = stage.client();
      for (let round = 0; round < 2; round++) {
        client.send(rpc('count', { to: 1000 }));
        const events = await client.events();
        const values = events.slice(0, -1).map(({ params }) => params?.result);
        assert.deepEqual(
          values,
          Array.from({ length: 1000 }, (_, i) => i),
        );
        assert.equal(events.at(-1)?.result, 'all');
        client.send(rpc('plain'));
        assert.equal(JSON.parse(await client.end()).result, 7);
      }
      assert.equal(client.closed, false);
    },
  },
  {
    name: 'large values are whole, whatever their bytes',
    async run(stage) {
      for (const size of [30_000, 33_000, 200_000]) {
        const client = stage.client();
        client.send(rpc('texts', { size, count: 5 }));
        const events = await client.events();
        const values = events.slice(0, -1).map(({ params }) => params?.result);
        const expected = Array.from({ length: 5 }, (_, i) => `${i} ${'é'.repeat(size)}`);
        assert.ok(JSON.stringify(values) === JSON.stringify(expected), `values of ${size}`);
        assert.equal(events.length, 6);
      }
    },
  },
  {
    name: 'a stream that is silent says so: at its begin, and after each streamPingMs',
    http: { streamPingMs: 20 },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('silent'));
      await client.until((text) => text.startsWith(':\n\n:\n\n:\n\n'));
      assert.equal(client.status, 200);
      const other = stage.client();
      other.send(rpc('quiet'));
      const first = valueEvent('quiet', '1', 1);
      // On a busy machine it may say so before its first value, too.
      await other.until((text) => text.replace(/^(?::\n\n)+/, '').startsWith(`${first}:\n\n:\n\n`));
    },
  },
  {
    name: 'rate limits and listed origins have their headers',
    options: { rateLimit: { calls: 100, costMs: 0, burstSeconds: 1 } },
    http: { corsOrigin: ['https://one.example'] },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('count', { to: 1 }), { origin: 'https://one.example' });
      await client.end();
      assert.equal(client.header('access-control-allow-origin'), 'https://one.example');
      assert.equal(client.header('vary'), 'origin');
      assert.match(client.header('ratelimit') ?? '', /^"default";r=\d+;t=\d+$/);
    },
  },
];
