import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, type Fetch } from '../../src/client/index.ts';
import { type Socket, webSocket } from '../../src/client/socket.ts';
import { sse } from '../../src/client/sse.ts';
import { answering, result, serveRaw } from './raw-server.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const of = (n: number) => `00-${traceId}-000000000000000${n}-01`;
const valid = of(1);
const later = valid.replace(/^00/, '01');

describe('the traceparent of a client', () => {
  it('is a header of each HTTP request: of calls, notifications, batches and collected calls', async (t) => {
    const { url, received } = await serveRaw(t, (one, response) =>
      one.text.includes('"id"')
        ? answering(result)(one, response)
        : void response.writeHead(204).end(),
    );
    let made = 0;
    const traceparent = () => of(++made);
    const client = createClient({ url, traceparent });
    await client.call('m');
    await client.notify('m');
    await client.batch([['m'], ['m'], ['m']]);
    const collecting = createClient({ url, traceparent, batch: { max: 5 } });
    await Promise.all([collecting.call('m'), collecting.call('m')]);
    await createClient({ url }).call('m');
    const sent = received.map(({ headers }) => headers.traceparent);
    // A batch has that of its first call, and asks once; calls that are collected are made one by one.
    assert.deepEqual(sent, [of(1), of(2), of(3), of(4), undefined]);
    assert.equal(made, 5);
  });

  it('is that of the moment when the call is made, for its retries too', async (t) => {
    let current: string | undefined = of(1);
    const { url, received } = await serveRaw(t, (one, response) => {
      current = of(received.length + 4);
      if (received.length === 1) response.socket?.resetAndDestroy();
      else answering(result)(one, response);
    });
    const headers = async () => ({ a: 'b' });
    const client = createClient({ url, headers, traceparent: () => current });
    const call = client.call('m', {}, { idempotent: true });
    current = of(2);
    await call;
    await client.call('m');
    const sent = received.map((one) => one.headers.traceparent);
    assert.deepEqual(sent, [of(1), of(1), of(6)]);
  });

  it('is a header of the POST that opens a stream', async () => {
    const sent: (string | null)[] = [];
    const fetch: Fetch = async (_url, { body, headers }) => {
      sent.push(headers.get('traceparent'));
      const { id } = JSON.parse(body) as { id: number };
      const end = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: null })}\n\n`;
      return new Response(end, { headers: { 'content-type': 'text/event-stream' } });
    };
    const traceparent = () => valid;
    const client = createClient({ url: 'http://x', fetch, streams: sse(), traceparent });
    for await (const value of client.call('ticks')) assert.fail(String(value));
    assert.deepEqual(sent, [valid]);
  });

  const told: readonly (readonly [string | undefined, sent: boolean])[] = [
    [undefined, false],
    ['', false],
    ['undefined', false],
    [valid.slice(1), false],
    [valid.toUpperCase(), false],
    [` ${valid}`, false],
    [`${valid}\n`, false],
    [`${valid}\r\nx-evil: 1`, false],
    [`00-${'0'.repeat(32)}-0000000000000001-01`, false],
    [`00-${traceId}-${'0'.repeat(16)}-01`, false],
    [`00-${traceId.slice(1)}-0000000000000001-01`, false],
    [`00-${traceId}-0000000000000001-1`, false],
    [valid.replace(/^00/, 'ff'), false],
    [`${valid}-more`, false],
    [`${later}.`, false],
    [`${later}-é\u2028`, false],
    [valid.replace(/01$/, '00'), true],
    [later, true],
    [`${later}-more of it`, true],
  ];
  it('is sent if it follows the grammar of W3C Trace Context, and else that of the headers, if any', async () => {
    let sent: string | null | undefined;
    const fetch: Fetch = async (_url, { headers }) => {
      sent = headers.get('traceparent');
      return new Response(null, { status: 204 });
    };
    for (const [text, isSent] of told) {
      const traceparent = () => text;
      await createClient({ url: 'http://x', fetch, traceparent }).notify('m');
      assert.equal(sent, isSent ? text : null, JSON.stringify(text));
      const headers = { Traceparent: of(9) };
      await createClient({ url: 'http://x', fetch, headers, traceparent }).notify('m');
      assert.equal(sent, isSent ? text : of(9), JSON.stringify(text));
    }
  });

  it('fails the call where it throws, which is not sent', async () => {
    const fault = new Error('no span');
    const traceparent = () => {
      throw fault;
    };
    const fetch = () => assert.fail('it was sent');
    const client = createClient({ url: 'http://x', fetch, traceparent });
    await assert.rejects(client.call('m'), (error) => error === fault);
    await assert.rejects(client.batch([['m']]), (error) => error === fault);
  });

  it('changes nothing over a WebSocket', async () => {
    const texts: string[] = [];
    class Answering implements Socket {
      onopen: ((event: never) => void) | null = null;
      onmessage: ((event: never) => void) | null = null;
      onerror = null;
      onclose = null;
      constructor() {
        queueMicrotask(() => this.onopen?.({} as never));
      }
      send(text: string): void {
        texts.push(text);
        const { id } = JSON.parse(text) as { id: number };
        this.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', id, result: 1 }) } as never);
      }
      close(): void {}
    }
    const transport = webSocket({ WebSocket: Answering });
    const client = createClient({ url: 'http://x', transport, traceparent: () => valid });
    assert.equal(await client.call('m'), 1);
    assert.deepEqual(Object.keys(JSON.parse(texts.join()) as object), ['jsonrpc', 'id', 'method']);
  });
});
