import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClientOptions, createClient } from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { sse } from '../../src/client/sse.ts';
import { setNodeEnv } from '../node-env.ts';

const url = 'http://127.0.0.1:1/rpc';

describe('the options of a client', () => {
  const refused: readonly (readonly [text: string, make: () => unknown])[] = [
    [
      'createClient: unknown option timeout, did you mean timeoutMs?',
      () => createClient({ url, timeout: 5 } as ClientOptions),
    ],
    [
      'createClient: unknown option retry, it takes url, headers, traceparent, timeoutMs, retries, fetch, hints, batch, streams, transport',
      () => createClient({ url, retry: 5 } as ClientOptions),
    ],
    [
      'createClient: unknown option stream, did you mean streams?',
      () => createClient({ url, stream: sse() } as ClientOptions),
    ],
    [
      'createClient: batch: unknown option maximum, it takes max',
      () => createClient({ url, batch: { max: 2, maximum: 3 } as { max: number } }),
    ],
    ['sse: unknown option retries, it takes none', () => sse({ retries: 1 } as object)],
    [
      'webSocket: unknown option websocket, did you mean WebSocket?',
      () => webSocket({ websocket: class {} } as object),
    ],
  ];
  for (const [text, make] of refused) {
    it(`are refused if they are unknown, except in production: ${text}`, (t) => {
      assert.throws(make, { name: 'TypeError', message: text });
      setNodeEnv(t, 'production');
      make();
    });
  }

  const client = createClient({ url, fetch: async () => new Response('{}') });
  for (const [text, params, options] of [
    ['x: unknown option timeout, did you mean timeoutMs?', {}, { timeout: 5 }],
    ['x: the params are one object, such as { name: value }, got a number', 1, undefined],
    ['x: JSON has no BigInt, as id is: send String(id)', { id: 1n }, undefined],
  ] as const) {
    it(`of a call, and its params, are refused before it is sent: ${text}`, async (t) => {
      const call = () => client.call('x', params as object, options as object);
      await assert.rejects(call(), { name: 'TypeError', message: text });
      setNodeEnv(t, 'production');
      await assert.rejects(call(), (error: Error) => error.message !== text);
    });
  }

  it('of webSocket() say where a WebSocket comes from if there is none', async () => {
    const given = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
    Object.defineProperty(globalThis, 'WebSocket', { value: undefined, configurable: true });
    try {
      const client = createClient({ url, transport: webSocket(), retries: 0 });
      await assert.rejects(client.call('x'), {
        message: /Node has a WebSocket from 22 on.*package ws/,
      });
    } finally {
      if (given === undefined) Reflect.deleteProperty(globalThis, 'WebSocket');
      else Object.defineProperty(globalThis, 'WebSocket', given);
    }
  });

  it('are not checked if the environment cannot be read', () => {
    const { env } = process;
    try {
      Object.defineProperty(process, 'env', {
        configurable: true,
        get: () => {
          throw new Error('denied');
        },
      });
      createClient({ url, timeout: 5 } as ClientOptions);
    } finally {
      Object.defineProperty(process, 'env', { value: env, configurable: true, writable: true });
    }
  });

  it('are taken, all of them', () => {
    const headers = { a: 'b' };
    const all: Required<ClientOptions> = {
      url,
      headers,
      traceparent: () => undefined,
      timeoutMs: 1,
      retries: 1,
      fetch,
      hints: {},
      batch: { max: 2 },
      streams: sse(),
      transport: webSocket(),
    };
    createClient(all);
  });
});
