import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { type ContractOf, createClient, type Hints, RpcError } from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { sse } from '../../src/client/sse.ts';
import { createCaller } from '../../src/index.ts';
import { drained } from '../drained.ts';
import { moduleUrl } from '../files.ts';
import router from '../fixtures/client/streams.ts';
import { suiteLifetime } from '../harness.ts';
import { servers } from '../servers.ts';
import { until } from '../turns.ts';
import { serve } from './serve.ts';

type Api = ContractOf<typeof router>;

const modules = [moduleUrl('test/fixtures/client/streams.ts')];
/** What a generated file has for the router. */
const hints: Hints = { bytes: { sendsBytes: true, bytes: [''], yields: ['/part'] } };

function openers(url: string) {
  const opened: (() => void)[] = [];
  return {
    'server-sent events': () => createClient<Api>({ url, streams: sse(), hints }),
    'a WebSocket': () => {
      const transport = webSocket({ WebSocket });
      opened.push(() => transport.close());
      return createClient<Api>({ url, transport, hints });
    },
    close: () => {
      for (const close of opened) close();
    },
  };
}

for (const server of servers) {
  for (const way of ['server-sent events', 'a WebSocket'] as const) {
    describe(`streams over ${way}, ${server}`, () => {
      const lifetime = suiteLifetime();
      let all: ReturnType<typeof openers>;
      before(async () => {
        const url = await serve(lifetime, { modules, transport: server });
        all = openers(url);
      });
      lifetime.after(() => all.close());
      checks(() => all[way]());
    });
  }
}

describe('streams of a caller in this process', () => {
  checks(() => createCaller(router));
});

/** What is true of every way. */
function checks(open: () => ReturnType<typeof createCaller<typeof router>>): void {
  it('give every value in order, then what was returned', async () => {
    const client = open();
    const values: number[] = [];
    for await (const value of client.count({ n: 500 })) values.push(value);
    assert.deepEqual(
      values,
      Array.from({ length: 500 }, (_, i) => i),
    );
    const { returned } = await drained(client.count({ n: 3 })[Symbol.asyncIterator]());
    assert.equal(returned, 'all');
    const inWorker = await drained(client.call('heavy', { n: 3 })[Symbol.asyncIterator]());
    assert.deepEqual(inWorker, { values: [0, 1, 2], returned: null });
  });

  it('end where their loop is left, and calls go on beside them', async () => {
    const client = open();
    const before = await client.over();
    for await (const value of client.count({ n: 1e9 })) {
      assert.equal(await client.plain({ n: value }), value + 1);
      if (value === 3) break;
    }
    await until(async () => (await client.over()) !== before);
    assert.equal(await client.over(), before + 1);
  });

  it('end by a signal, with its reason', async () => {
    const client = open();
    const before = await client.over();
    const stop = new AbortController();
    await assert.rejects(async () => {
      for await (const value of client.count({ n: 1e9 }, { signal: stop.signal })) {
        if (value === 3) stop.abort(new Error('enough'));
      }
    }, /^Error: enough$/);
    await until(async () => (await client.over()) !== before);
    const aborted = client.count({ n: 1 }, { signal: stop.signal })[Symbol.asyncIterator]();
    await assert.rejects(aborted.next(), /^Error: enough$/);
    const late = client.count({ n: 1e9 }, { timeoutMs: 50 })[Symbol.asyncIterator]();
    await assert.rejects(drained(late), { code: -32001, data: { timeoutMs: 50 }, method: 'count' });
  });

  it('fail as calls do, before their first value and behind it', async () => {
    const client = open();
    const wrong = client.count({ n: 'x' as never })[Symbol.asyncIterator]();
    await assert.rejects(wrong.next(), { code: -32602, method: 'count' });
    const nobody = (client as never as ReturnType<typeof createClient>).call('nobody');
    await assert.rejects(nobody[Symbol.asyncIterator]().next(), { code: -32601 });
    const stream = client.fails()[Symbol.asyncIterator]();
    assert.deepEqual(await stream.next(), { done: false, value: 1 });
    await assert.rejects(stream.next(), (error) => {
      assert.ok(error instanceof RpcError);
      assert.deepEqual([error.code, error.data, error.method], [7, { at: 1 }, 'fails']);
      return true;
    });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it('that are none give no value, and their result at the end', async () => {
    const call = (open() as never as ReturnType<typeof createClient>).call('plain', { n: 1 });
    assert.deepEqual(await call[Symbol.asyncIterator]().next(), { done: true, value: 2 });
    const hex = (open() as never as ReturnType<typeof createClient>).call('hex');
    assert.deepEqual(await hex[Symbol.asyncIterator]().next(), { done: true, value: '0xabc' });
  });

  it('that are awaited, or in a batch, are refused and ended', async () => {
    const client = open() as never as ReturnType<typeof createClient>;
    const refused = { name: 'RpcError', code: -32601 };
    // Over a WebSocket the first has ended before it can be left, the second would go on.
    await assert.rejects(Promise.resolve(client.call('count', { n: 0 })), refused);
    await assert.rejects(Promise.resolve(client.call('count', { n: 1e9 })), refused);
    const outcomes = await client.batch([
      ['likeName'],
      ['count', { n: 1e9 }],
      ['heavy', { n: 1e9 }],
      ['plain', { n: 1 }],
    ]);
    assert.deepEqual(
      outcomes.map((one) => (one.ok ? one.result : (one.error as RpcError).code)),
      ['0xabcdef0123', -32601, -32601, 2],
    );
    assert.equal(await client.call('likeName'), '0xabcdef0123');
    const text = client.call('likeName')[Symbol.asyncIterator]();
    assert.deepEqual(await text.next(), { done: true, value: '0xabcdef0123' });
  });

  it('carry bytes both ways, in values and at the end', async () => {
    const stream = open()
      .bytes({ data: new Uint8Array([1, 255]) })
      [Symbol.asyncIterator]();
    const { values, returned } = await drained(stream);
    assert.deepEqual(values, [{ part: new Uint8Array([1]) }, { part: new Uint8Array([255]) }]);
    assert.deepEqual(returned, new Uint8Array([1, 255]));
  });

  it('are not begun by a call that was sent already; a batch goes beside them', async () => {
    const client = open();
    const call = (client as never as ReturnType<typeof createClient>).call('plain', { n: 1 });
    assert.equal(await call, 2);
    assert.throws(() => call[Symbol.asyncIterator](), /^TypeError: the call was sent already$/);
    const iterated = (client as never as ReturnType<typeof createClient>).call('plain', { n: 1 });
    for await (const value of iterated) assert.fail(String(value));
    await assert.rejects(iterated, /^TypeError: the call was sent already$/);
    const outcomes = await client.batch([
      ['plain', { n: 1 }],
      ['plain', { n: 2 }],
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.ok && outcome.result),
      [2, 3],
    );
    await client.notify('plain', { n: 1 });
  });
}
