import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createClient, hasCode, settle } from '../../src/client/index.ts';
import { answering, type RawServer, result, serveRaw } from './raw-server.ts';

describe('what is sent', () => {
  const echo = (t: TestContext): Promise<RawServer> => serveRaw(t, answering(result));

  it('has ids of its own, also over clients', async (t) => {
    const { url, received } = await echo(t);
    const clients = [createClient({ url }), createClient({ url, batch: { max: 3 } })];
    await Promise.all(
      clients.flatMap((client) => [
        ...Array.from({ length: 5 }, () => client.call('m')),
        client.batch([['a'], ['b']]),
      ]),
    );
    const ids = received.flatMap((one) => one.ids);
    assert.equal(ids.length, 14);
    assert.equal(new Set(ids).size, 14);
  });

  it('is JSON-RPC 2.0, a notification without id, no params where there are none', async (t) => {
    const { url, received } = await serveRaw(t, ({ ids, text }, response) => {
      if (text.includes('"id"')) answering(result)({ ids, text, headers: {} }, response);
      else response.writeHead(204).end();
    });
    const client = createClient({ url });
    await client.call('a', { b: 1 });
    await client.notify('c "d"', [1]);
    await client.notify('e');
    const [call, ...notifications] = received.map(({ text }) => JSON.parse(text) as object);
    const [id] = received[0]!.ids;
    assert.deepEqual(call, { jsonrpc: '2.0', id, method: 'a', params: { b: 1 } });
    assert.deepEqual(notifications, [
      { jsonrpc: '2.0', method: 'c "d"', params: [1] },
      { jsonrpc: '2.0', method: 'e' },
    ]);
    assert.equal(received[0]?.headers['content-type'], 'application/json');
    assert.equal(received[0]?.headers['rpc-timeout-ms'], undefined);
  });

  it('tells the deadline, as what is left of it', async (t) => {
    const { url, received } = await echo(t);
    const client = createClient({ url, timeoutMs: 100_000 });
    await client.call('a');
    await client.call('a', {}, { timeoutMs: 50_000.5 });
    const [first, second] = received.map(({ headers }) => String(headers['rpc-timeout-ms']));
    for (const [sent, limit] of [
      [first, 100_000],
      [second, 50_001],
    ] as const) {
      assert.match(sent ?? '', /^[1-9]\d*$/);
      assert.ok(Number(sent) <= limit);
    }
  });

  it('is what the params were when they were passed', async (t) => {
    const { url, received } = await echo(t);
    const params = { a: 1 };
    const call = createClient({ url, batch: { max: 10 } }).call('m', params);
    params.a = 2;
    await call;
    assert.match(received[0]?.text ?? '', /"params":\{"a":1\}/);
  });

  it('is nothing where JSON cannot hold the params; the others of the turn go', async (t) => {
    const { url, received } = await echo(t);
    const client = createClient({ url, batch: { max: 10 } });
    const bad = client.call('m', { a: 1n });
    const good = client.call('m', { a: 1 });
    await assert.rejects(bad, TypeError);
    assert.match(String(await good), /^of /);
    assert.equal(received.length, 1);
  });

  it('is nothing where the caller leaves while headers are made', async () => {
    const reason = new Error('left');
    const controller = new AbortController();
    const headers = async () => controller.abort(reason);
    let sent = 0;
    const fetch = async () => {
      sent += 1;
      return new Response('');
    };
    const client = createClient({
      url: 'http://x',
      headers: headers as () => Promise<never>,
      fetch,
    });
    const call = client.call('m', [], { signal: controller.signal });
    await assert.rejects(settle(call), (error) => error === reason);
    assert.equal(sent, 0);
  });

  it('is nothing where headers fails', async (t) => {
    const { url, received } = await echo(t);
    const fault = new Error('no token');
    const headers = () => Promise.reject(fault);
    await assert.rejects(createClient({ url, headers }).call('m'), (error) => error === fault);
    assert.equal(received.length, 0);
  });
});

describe('a deadline', () => {
  it('ends a call whose server says nothing', async (t) => {
    const { url } = await serveRaw(t, () => {});
    for (const batch of [undefined, { max: 5 }]) {
      const call = createClient({ url, batch, timeoutMs: 10 }).call('m');
      await assert.rejects(call, (error) => hasCode(error, -32001) && error.method === 'm');
    }
  });

  it('ends a call whose server says half of it', async (t) => {
    const { url } = await serveRaw(t, (_, response) => response.writeHead(200).write('{"jsonrpc"'));
    const call = createClient({ url, timeoutMs: 50 }).call('m');
    await assert.rejects(call, (error) => hasCode(error, -32001));
  });

  it('ends a call whose fetch hears of no signal', async () => {
    const fetch = () => new Promise<never>(() => {});
    const call = createClient({ url: 'http://x', fetch, timeoutMs: 10 }).call('m');
    await assert.rejects(call, (error) => hasCode(error, -32001));
  });
});
