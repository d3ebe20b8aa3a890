import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { handleRequest } from '../../src/index.ts';
import procedures from '../fixtures/service/procedures.ts';
import { Running } from './running.ts';

/** Values that code can pass and JSON can't hold. */
const hostile: readonly [name: string, make: (method: string) => unknown][] = [
  ['undefined', () => undefined],
  ['a function', () => () => 1],
  ['a symbol', () => Symbol('a')],
  ['a BigInt', () => 1n],
  ['a Date', () => new Date(0)],
  ['a Map', () => new Map()],
  ['a BigInt as the id', (method) => ({ method, id: 1n })],
  ['NaN as the id', (method) => ({ method, id: Number.NaN })],
  ['a symbol as the method', () => ({ method: Symbol('m'), id: 1 })],
  ['a function as the params', (method) => ({ method, params: () => 1, id: 1 })],
  ['a hole in a batch', () => Object.assign([], { 1: 1 })],
  [
    'a getter that throws',
    () => ({
      get method(): string {
        throw new Error('from the getter');
      },
      id: 1,
    }),
  ],
  [
    'a proxy that throws',
    () =>
      new Proxy(
        {},
        {
          get() {
            throw new Error('from the proxy');
          },
        },
      ),
  ],
  [
    'a revoked proxy',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
  ],
];

/** Params that JSON.stringify refuses: they can't reach a worker. */
const stuck: readonly [name: string, make: () => object][] = [
  ['a BigInt', () => ({ a: 1n })],
  [
    'a cycle',
    () => {
      const ring: { self?: unknown } = {};
      ring.self = ring;
      return ring;
    },
  ],
  [
    'a toJSON that throws',
    () => ({
      toJSON() {
        throw new Error('from toJSON');
      },
    }),
  ],
  [
    'a getter that throws',
    () => ({
      get a(): number {
        throw new Error('from the getter');
      },
    }),
  ],
];

describe('a payload that is no JSON value', () => {
  const running = Running.suite();

  test('gets an error reply from handleRequest and from dispatch, never a throw', async () => {
    for (const [name, make] of hostile) {
      for (const method of ['in.thread', 'out.thread']) {
        for (const handle of [
          (payload: unknown) => handleRequest(payload, procedures),
          (payload: unknown) => running.dispatcher.dispatch(payload),
        ]) {
          const reply = (await handle(make(method))) as { error?: { code: number } } | unknown[];
          const first = (Array.isArray(reply) ? reply[0] : reply) as { error?: { code: number } };
          assert.equal(first?.error?.code, -32600, `${name}: ${JSON.stringify(reply)}`);
        }
      }
    }
  });

  test('says what is no router', async () => {
    const request = { jsonrpc: '2.0', method: 'in.add', id: 1 };
    await assert.rejects(handleRequest(request, {} as never), {
      name: 'TypeError',
      message: 'handleRequest: the second argument must be a Router',
    });
  });

  test('params that cannot cross to a worker are refused, and the service goes on', async () => {
    for (const [name, make] of stuck) {
      const payload = { method: 'out.repeat', params: make(), id: 1 };
      const reply = (await running.dispatcher.dispatch(payload)) as { error: { code: number } };
      assert.equal(reply.error.code, -32600, name);
      const batch = [payload, { method: 'out.repeat', params: { text: 'a', times: 2 }, id: 2 }];
      const replies = (await running.dispatcher.dispatch(batch)) as [typeof reply, unknown];
      assert.equal(replies[0].error.code, -32600, name);
      assert.deepEqual(replies[1], { jsonrpc: '2.0', id: 2, result: 'aa' });
    }
  });

  test('what the caller changes afterwards does not reach the worker', async () => {
    const params = { text: 'a', times: 2 };
    const reply = running.dispatcher.dispatch({ method: 'out.repeat', params, id: 1 });
    params.text = 'b';
    assert.deepEqual(await reply, { jsonrpc: '2.0', id: 1, result: 'aa' });
  });
});
