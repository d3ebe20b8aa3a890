import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { HTTPTransport, Client as OpenRpcClient, RequestManager } from '@open-rpc/client-js';
import { JsonRpcProvider } from 'ethers';
import jayson from 'jayson/promise/index.js';
import { JSONRPCClient, type JSONRPCResponse } from 'json-rpc-2.0';
import { type HttpTransportConfig, http } from 'viem';
import { suiteLifetime } from '../harness.ts';
import { postJson } from '../post-json.ts';
import { serve } from './serve.ts';

/** Clients that others wrote, as their own documents say to use them. */
describe('foreign clients', () => {
  let url: string;
  const lifetime = suiteLifetime();
  before(async () => {
    url = await serve(lifetime);
  });

  describe('jayson, http', () => {
    const connect = () => {
      const { hostname, port, pathname } = new URL(url);
      return jayson.Client.http({ hostname, port, path: pathname });
    };

    it('calls by name and by position', async () => {
      const named = await connect().request('math.add', { a: 1, b: 2 });
      assert.equal(named.result, 3);
      assert.equal((await connect().request('math.add', [1, 2])).result, 3);
    });

    it('sends [] for no params', async () => {
      assert.equal((await connect().request('nothing', [])).result, null);
    });

    it('gets errors', async () => {
      const { error } = await connect().request('users.pooled', { id: 'none' });
      assert.deepEqual(error, { code: 404, message: 'No such user', data: { id: 'none' } });
      assert.equal((await connect().request('no.such', [])).error.code, -32601);
    });

    it('notifies', async () => {
      // A null id is its way to say that there is none; its types don't know.
      assert.equal(
        await connect().request('math.add', [1], null as unknown as undefined),
        undefined,
      );
    });

    it('batches', async () => {
      const client = connect();
      const replies = await client.request([
        client.request('math.add', [1, 2], undefined, false),
        client.request('users.inline', ['none'], undefined, false),
        client.request('math.add', [3, 4], undefined, false),
      ]);
      assert.deepEqual(
        replies.map((reply: { result?: unknown; error?: { code: number } }) =>
          reply.error === undefined ? reply.result : reply.error.code,
        ),
        [3, 404, 7],
      );
    });
  });

  describe('json-rpc-2.0, over fetch', () => {
    const post = (request: unknown) => postJson(url, request);
    const connect = () => {
      const client = new JSONRPCClient(async (request) => {
        const response = await post(request);
        client.receive((await response.json()) as JSONRPCResponse | JSONRPCResponse[]);
      });
      return client;
    };

    it('calls by name and by position', async () => {
      assert.equal(await connect().request('math.add', { a: 1, b: 2 }), 3);
      assert.equal(await connect().request('math.add', [1, 2]), 3);
    });

    it('gets errors', async () => {
      const call = Promise.resolve(connect().request('users.pooled', { id: 'none' }));
      await assert.rejects(call, { message: 'No such user', code: 404, data: { id: 'none' } });
    });

    it('notifies', async () => {
      const status = new Promise<number>((resolve, reject) => {
        const client = new JSONRPCClient((request) =>
          post(request).then((response) => resolve(response.status), reject),
        );
        client.notify('math.add', [1]);
      });
      assert.equal(await status, 204);
    });

    it('batches', async () => {
      const replies = await connect().requestAdvanced([
        { jsonrpc: '2.0', id: 'a', method: 'math.add', params: [1, 2] },
        { jsonrpc: '2.0', id: 'b', method: 'no.such' },
      ]);
      assert.deepEqual(
        replies.map(({ id, result, error }) => [id, result ?? error?.code]),
        [
          ['a', 3],
          ['b', -32601],
        ],
      );
    });
  });

  describe('@open-rpc/client-js, HTTPTransport', () => {
    const connect = () => new OpenRpcClient(new RequestManager([new HTTPTransport(url)]));

    it('calls by name and by position', async () => {
      const named = await connect().request({ method: 'math.add', params: { a: 1, b: 2 } });
      assert.equal(named, 3);
      assert.equal(await connect().request({ method: 'math.add', params: [1, 2] }), 3);
    });

    it('gets errors', async () => {
      const call = connect().request({ method: 'users.pooled', params: { id: 'none' } });
      await assert.rejects(call, { message: 'No such user', code: 404, data: { id: 'none' } });
    });

    it('notifies', async () => {
      await connect().notify({ method: 'math.add', params: [1] });
    });

    it('batches', async () => {
      const client = connect();
      client.startBatch();
      const calls = [1, 2, 3].map((n) => client.request({ method: 'math.add', params: [n, n] }));
      client.stopBatch();
      assert.deepEqual(await Promise.all(calls), [2, 4, 6]);
    });
  });

  describe('ethers, JsonRpcProvider', () => {
    /** One that batches, as it does unless told otherwise; the requests it sends are counted. */
    const connect = (t: TestContext) => {
      const provider = new JsonRpcProvider(url, 1, { staticNetwork: true });
      t.after(() => provider.destroy());
      const sent: unknown[] = [];
      void provider.on('debug', ({ action, payload }: { action: string; payload: unknown }) => {
        if (action === 'sendRpcPayload') sent.push(payload);
      });
      return { provider, sent };
    };

    it('batches calls by name and by position', async (t) => {
      const { provider, sent } = connect(t);
      const calls = [
        provider.send('math.add', [1, 2]),
        provider.send('math.add', { a: 3, b: 4 }),
        provider.send('math.add', [5, 6]),
      ];
      assert.deepEqual(await Promise.all(calls), [3, 7, 11]);
      assert.equal(sent.length, 1);
    });

    it('sends [] for no params', async (t) => {
      const { provider } = connect(t);
      assert.equal(await provider.send('nothing', []), null);
    });

    it('gets errors, each that of its call', async (t) => {
      const { provider, sent } = connect(t);
      const bad = provider.send('users.pooled', ['none']);
      const good = provider.send('math.add', [1, 2]);
      await assert.rejects(bad, {
        code: 'UNKNOWN_ERROR',
        error: { code: 404, message: 'No such user', data: { id: 'none' } },
      });
      assert.equal(await good, 3);
      assert.equal(sent.length, 1);
    });
  });

  describe('viem, http', () => {
    const connect = (config: HttpTransportConfig = {}) => {
      const { request } = http(url, config)({ retryCount: 0 });
      return (method: string, params?: unknown): Promise<unknown> => request({ method, params });
    };

    it('calls by name and by position', async () => {
      assert.equal(await connect()('math.add', { a: 1, b: 2 }), 3);
      assert.equal(await connect()('math.add', [1, 2]), 3);
    });

    it('sends [] for no params', async () => {
      assert.equal(await connect()('nothing', []), null);
    });

    it('batches, and gets the errors, each that of its call', async () => {
      let bodies = 0;
      const request = connect({
        batch: true,
        onFetchRequest: () => {
          bodies += 1;
        },
      });
      const calls = [
        request('math.add', [1, 2]),
        request('users.pooled', { id: 'none' }),
        request('math.add', [3, 4]),
      ];
      const [first, second, third] = await Promise.allSettled(calls);
      assert.deepEqual(first, { status: 'fulfilled', value: 3 });
      assert.deepEqual(third, { status: 'fulfilled', value: 7 });
      assert.ok(second?.status === 'rejected');
      const { code, data, details } = second.reason as Record<string, unknown>;
      assert.deepEqual([code, data, details], [404, { id: 'none' }, 'No such user']);
      assert.equal(bodies, 1);
    });
  });
});
