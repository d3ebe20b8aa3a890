import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { HTTPTransport, Client as OpenRpcClient, RequestManager } from '@open-rpc/client-js';
import { JsonRpcProvider } from 'ethers';
import jayson from 'jayson/promise/index.js';
import { JSONRPCClient, type JSONRPCResponse } from 'json-rpc-2.0';
import { http } from 'viem';
import { suiteLifetime } from '../harness.ts';
import { postJson } from '../post-json.ts';
import { until } from '../turns.ts';
import { serve } from './serve.ts';

type Call = readonly [method: string, params: unknown];

/** A client that others wrote, used as its own documents say. */
interface Foreign {
  /** Rejects with the code, the message and the data of an error. */
  call(...call: Call): PromiseLike<unknown>;
  notify?(...call: Call): PromiseLike<unknown>;
  /** Sends calls in one body, and resolves with the result or the code of each. undefined: calls of one turn go so by themselves. */
  batch?(calls: readonly Call[]): Promise<unknown[]>;
  /** How many bodies were sent. */
  bodies?(): number;
  close?(): void;
}

interface Failure {
  readonly code: number;
}

async function outcomesOf(calls: readonly PromiseLike<unknown>[]): Promise<unknown[]> {
  const ended = await Promise.allSettled(calls);
  return ended.map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason as Failure).code,
  );
}

function withJayson(url: string): Foreign {
  const { hostname, port, pathname } = new URL(url);
  const client = jayson.Client.http({ hostname, port, path: pathname });
  return {
    async call(method, params) {
      const { result, error } = await client.request(method, params as object);
      if (error !== undefined) throw error;
      return result;
    },
    // A null id is its way to say that there is none; its types don't know.
    notify: (method, params) =>
      client.request(method, params as object, null as unknown as undefined),
    async batch(calls) {
      const made = calls.map(([method, params]) =>
        client.request(method, params as object, undefined, false),
      );
      const replies = (await client.request(made)) as { result?: unknown; error?: Failure }[];
      return replies.map(({ result, error }) => error?.code ?? result);
    },
  };
}

function withJsonRpc2(url: string): Foreign {
  const statuses: number[] = [];
  const client = new JSONRPCClient(async (request) => {
    const response = await postJson(url, request);
    statuses.push(response.status);
    if (response.status === 204) return;
    client.receive((await response.json()) as JSONRPCResponse | JSONRPCResponse[]);
  });
  return {
    call: (method, params) => client.request(method, params),
    async notify(method, params) {
      client.notify(method, params);
      await until(() => statuses.at(-1) === 204);
    },
    async batch(calls) {
      const made = calls.map(
        ([method, params], id) => ({ jsonrpc: '2.0', id, method, params }) as const,
      );
      const replies = await client.requestAdvanced(made);
      return replies.map(({ result, error }) => error?.code ?? result);
    },
  };
}

function withOpenRpc(url: string): Foreign {
  const client = new OpenRpcClient(new RequestManager([new HTTPTransport(url)]));
  const call = (...[method, params]: Call) =>
    client.request({ method, params: params as object | unknown[] });
  return {
    call,
    notify: (method, params) => client.notify({ method, params: params as object | unknown[] }),
    batch(calls) {
      client.startBatch();
      const made = calls.map((one) => call(...one));
      client.stopBatch();
      return outcomesOf(made);
    },
  };
}

/** It batches, unless told otherwise. */
function withEthers(url: string): Foreign {
  const provider = new JsonRpcProvider(url, 1, { staticNetwork: true });
  let bodies = 0;
  void provider.on('debug', ({ action }: { action: string }) => {
    if (action === 'sendRpcPayload') bodies++;
  });
  const call = async (...[method, params]: Call): Promise<unknown> => {
    try {
      return await provider.send(method, params as unknown[] | Record<string, unknown>);
    } catch (error) {
      throw (error as { error: unknown }).error;
    }
  };
  return { call, bodies: () => bodies, close: () => provider.destroy() };
}

function withViem(url: string): Foreign {
  let bodies = 0;
  const onFetchRequest = (): void => {
    bodies++;
  };
  // It gives up a request after 10 s.
  const options = { batch: true, onFetchRequest, timeout: 600_000 };
  const { request } = http(url, options)({ retryCount: 0 });
  const call = async (...[method, params]: Call): Promise<unknown> => {
    try {
      return await request({ method, params });
    } catch (error) {
      const { code, data, details } = error as Record<string, unknown>;
      throw Object.assign(new Error(String(details)), { code, data });
    }
  };
  return { call, bodies: () => bodies };
}

const foreign: Readonly<Record<string, (url: string) => Foreign>> = {
  'jayson, http': withJayson,
  'json-rpc-2.0, over fetch': withJsonRpc2,
  '@open-rpc/client-js, HTTPTransport': withOpenRpc,
  'ethers, JsonRpcProvider': withEthers,
  'viem, http': withViem,
};

for (const [name, open] of Object.entries(foreign)) {
  describe(`foreign clients: ${name}`, () => {
    const lifetime = suiteLifetime();
    let url: string;
    before(async () => {
      url = await serve(lifetime);
    });

    it('calls by name, by position, and with [] for no params; gets errors; notifies', async (t) => {
      const client = open(url);
      t.after(() => client.close?.());
      assert.equal(await client.call('math.add', { a: 1, b: 2 }), 3);
      assert.equal(await client.call('math.add', [1, 2]), 3);
      assert.equal(await client.call('nothing', []), null);
      const error = { code: 404, message: 'No such user', data: { id: 'none' } };
      for (const params of [{ id: 'none' }, ['none']]) {
        const failure = await Promise.resolve(client.call('users.pooled', params)).then(
          (value) => assert.fail(JSON.stringify(value)),
          ({ code, message, data }) => ({ code, message, data }),
        );
        assert.deepEqual(failure, error);
      }
      await client.notify?.('math.add', [1]);
    });

    it('batches calls, and gets the error of each', async (t) => {
      const client = open(url);
      t.after(() => client.close?.());
      const calls: Call[] = [
        ['math.add', [1, 2]],
        ['users.inline', ['none']],
        ['math.add', { a: 3, b: 4 }],
        ['no.such', []],
      ];
      const outcomes = client.batch?.(calls) ?? outcomesOf(calls.map((one) => client.call(...one)));
      assert.deepEqual(await outcomes, [3, 404, 7, -32601]);
      assert.equal(client.bodies?.() ?? 1, 1);
    });
  });
}
