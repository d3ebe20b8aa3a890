import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HTTPTransport, Client as OpenRpcClient, RequestManager } from '@open-rpc/client-js';
import jayson from 'jayson/promise/index.js';
import { JSONRPCClient, type JSONRPCResponse } from 'json-rpc-2.0';
import { serve } from './serve.ts';

/** Clients that others wrote, as their own documents say to use them. */
describe('foreign clients', () => {
  let url: string;
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    url = await serve({ after: (stop) => stops.push(stop) });
  });
  after(() => Promise.all(stops.map((stop) => stop())));

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
    const post = (request: unknown) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
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
});
