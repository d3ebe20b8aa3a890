import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { WebSocketProvider } from 'ethers';
import { Client as RpcWebSocketsClient } from 'rpc-websockets';
import { createPublicClient, webSocket } from 'viem';
import { WebSocketProvider as Web3Provider } from 'web3-providers-ws';
import { Router, RpcError, Type } from '../../src/index.ts';
import { startApp, suiteLifetime } from '../harness.ts';
import { servers } from '../servers.ts';

const hex = (value: number) => `0x${value.toString(16)}`;

/** As much of an Ethereum node as its clients ask before they subscribe. */
function block(number: number) {
  return {
    number: hex(number),
    hash: `0x${number.toString(16).padStart(64, '0')}`,
    parentHash: `0x${(number - 1).toString(16).padStart(64, '0')}`,
    timestamp: hex(1_700_000_000 + number),
    gasLimit: '0x1c9c380',
    gasUsed: '0x0',
    transactions: [],
  };
}

/** Streams that are open. */
let open = 0;

function node(): Router {
  const router = new Router();
  router.rpc({ name: 'eth_chainId' }, () => '0x1');
  router.rpc({ name: 'eth_blockNumber' }, () => hex(7));
  router.rpc(
    {
      name: 'eth_getBlockByNumber',
      params: Type.Object({ at: Type.String(), whole: Type.Boolean() }),
    },
    ({ at }) => block(Number(at)),
  );
  router.rpc(
    { name: 'eth_subscribe', params: Type.Object({ kind: Type.Literal('newHeads') }) },
    async function* heads(_params, { signal }) {
      open++;
      try {
        for (let number = 8; number < 11; number++) yield block(number);
        await once(signal, 'abort');
      } finally {
        open--;
      }
    },
  );
  router.rpc(
    { name: 'ticks', params: Type.Object({ n: Type.Integer() }) },
    async function* ticks({ n }) {
      for (let i = 1; i <= n; i++) yield i;
      return 'done';
    },
  );
  const numbers = Type.Object({ a: Type.Number(), b: Type.Number() });
  router.rpc({ name: 'math.add', params: numbers }, ({ a, b }) => a + b);
  router.rpc({ name: 'math.fail' }, () => {
    throw new RpcError(404, 'No such user', { id: 'none' });
  });
  router.rpc({ name: 'nothing' }, () => null);
  return router;
}

const notFound = { code: 404, message: 'No such user', data: { id: 'none' } };

/** Resolves with the first `count` of what comes. */
function gather<T>(count: number, listen: (take: (value: T) => void) => void): Promise<T[]> {
  return new Promise((resolve) => {
    const values: T[] = [];
    listen((value) => {
      values.push(value);
      if (values.length === count) resolve(values);
    });
  });
}

async function untilNoneIsOpen(): Promise<void> {
  while (open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

for (const transport of servers) {
  /** Clients that others wrote, as their own documents say to use them. */
  describe(`foreign clients over a WebSocket (${transport})`, () => {
    let url: string;
    const lifetime = suiteLifetime();
    before(async () => {
      const address = await startApp(lifetime, { router: node(), transport });
      url = address.url.replace('http', 'ws');
    });

    test('ethers, WebSocketProvider: calls, errors, a subscription to blocks', async () => {
      const provider = new WebSocketProvider(url, 1, { staticNetwork: true });
      assert.equal(await provider.send('math.add', [1, 2]), 3);
      assert.equal(await provider.send('math.add', { a: 3, b: 4 }), 7);
      assert.equal(await provider.send('nothing', []), null);
      await assert.rejects(provider.send('math.fail', []), { error: notFound });
      assert.equal(await provider.getBlockNumber(), 7);
      const blocks = await gather<number>(3, (take) => void provider.on('block', take));
      assert.deepEqual(blocks, [8, 9, 10]);
      await provider.removeAllListeners('block');
      await untilNoneIsOpen();
      // The answer of its eth_unsubscribe comes before this one.
      await provider.send('nothing', []);
      await provider.destroy();
    });

    test('ethers, WebSocketProvider: its network is found by calls without params', async () => {
      const provider = new WebSocketProvider(url);
      assert.equal((await provider.getNetwork()).chainId, 1n);
      await provider.destroy();
    });

    test('viem, webSocket: calls, errors, watchBlocks, transport.subscribe', async () => {
      const client = createPublicClient({
        // It gives up a request after 10 s, and tells nobody of blocks that it did not get.
        transport: webSocket(url, {
          retryCount: 0,
          reconnect: false,
          keepAlive: false,
          timeout: 600_000,
        }),
      });
      assert.equal(await client.getChainId(), 1);
      const request = client.request as (call: object) => Promise<unknown>;
      assert.equal(await request({ method: 'math.add', params: [1, 2] }), 3);
      await assert.rejects(request({ method: 'math.fail', params: [] }), { code: 404 });
      let unwatch: (() => void) | undefined;
      const blocks = await gather<{ number: bigint }>(3, (onBlock) => {
        unwatch = client.watchBlocks({ onBlock });
      });
      assert.deepEqual(
        blocks.map(({ number }) => number),
        [8n, 9n, 10n],
      );
      unwatch?.();
      await untilNoneIsOpen();
      type Subscription = ReturnType<typeof client.transport.subscribe>;
      let subscribed: Subscription | undefined;
      const heads = await gather<{ result: { number: string } }>(3, (onData) => {
        subscribed = client.transport.subscribe({
          params: ['newHeads'],
          onData: onData as never,
        });
      });
      assert.deepEqual(
        heads.map(({ result }) => result.number),
        ['0x8', '0x9', '0xa'],
      );
      // Values that come in one packet with the reply are told before the subscription.
      await (await subscribed)?.unsubscribe();
      await untilNoneIsOpen();
      const rpc = await client.transport.getRpcClient();
      rpc.close();
    });

    test('web3-providers-ws: calls, errors, a subscription', async () => {
      const provider = new Web3Provider(url, {}, { autoReconnect: false });
      let id = 0;
      const request = (method: string, params: unknown): Promise<{ result: unknown }> =>
        provider.request({ jsonrpc: '2.0', id: ++id, method, params } as never) as never;
      assert.equal((await request('math.add', [1, 2])).result, 3);
      const failed = await request('math.fail', []).catch((error: unknown) => error);
      assert.deepEqual((failed as { error: unknown }).error, notFound);
      type Message = { params?: { subscription: string; result: { number: string } } };
      const messages = gather<NonNullable<Message['params']>>(3, (take) => {
        // It tells of replies, too.
        const onMessage = ({ params }: Message) => params !== undefined && take(params);
        provider.on('message', onMessage as never);
      });
      const { result } = await request('eth_subscribe', ['newHeads']);
      assert.deepEqual(
        (await messages).map((params) => [params.subscription, params.result.number]),
        [
          [result, '0x8'],
          [result, '0x9'],
          [result, '0xa'],
        ],
      );
      assert.equal((await request('eth_unsubscribe', [result])).result, true);
      await untilNoneIsOpen();
      provider.disconnect();
    });

    test('rpc-websockets: call, notify, on(method)', async () => {
      const client = new RpcWebSocketsClient(url, { reconnect: false });
      await new Promise<void>((resolve) => client.on('open', resolve));
      assert.equal(await client.call('math.add', [1, 2]), 3);
      assert.equal(await client.call('math.add', { a: 3, b: 4 }), 7);
      await assert.rejects(client.call('math.fail', []), notFound);
      await client.notify('math.add', [1, 2]);
      const ticks = gather<{ subscription: string; result: number }>(3, (take) =>
        client.on('ticks', take),
      );
      const ended = gather<object>(1, (take) => client.on('rpc.end', take));
      const subscription = await client.call('ticks', [3]);
      assert.deepEqual(
        await ticks,
        [1, 2, 3].map((result) => ({ subscription, result })),
      );
      assert.deepEqual(await ended, [{ subscription, result: 'done' }]);
      client.close();
    });
  });
}
