import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type AppOptions, Router, RpcError, Type } from '../../../src/index.ts';
import { serve } from '../../app/hooks/serve.ts';
import { servers } from '../../servers.ts';
import { texts } from '../../texts.ts';
import { until } from '../../turns.ts';
import { rpc } from '../raw-client.ts';
import { RawSocket } from './raw-socket.ts';

/** A notification of a subscription, or of its end. */
interface Notification {
  readonly method: string;
  readonly params: {
    readonly subscription: string;
    readonly result?: unknown;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  };
}

/** What happens in the procedures of one service. */
class Stage extends EventEmitter {
  /** Values that generators of `flood` have yielded. */
  flooded = 0;
  /** Generators of `waits` that have begun. */
  begun = 0;
  /** Generators that have run their `finally`. */
  ended = 0;

  async hasEnded(count: number): Promise<void> {
    while (this.ended < count) await once(this, 'ended');
  }
}

function routerOf(stage: Stage): Router {
  const router = new Router();
  const n = Type.Object({ n: Type.Integer() });
  async function* count({ n: last }: { readonly n: number }) {
    for (let i = 0; i < last; i++) yield i;
    return 'all';
  }
  router.rpc({ name: 'ticks', params: n, yields: Type.Number() }, count);
  router.rpc({ name: 'eth_subscribe', params: n }, count);
  router.rpc({ name: 'subscribe', params: n }, count);
  const dialect = { notification: 'slotNotification', unsubscribe: 'slotEnd' };
  router.rpc({ name: 'slotSubscribe', params: n, stream: dialect }, count);
  router.rpc({ name: 'fails', params: n }, async function* fails({ n: last }) {
    yield* [1, 2].slice(0, last);
    throw new RpcError(77, 'No more', { last });
  });
  router.rpc(
    { name: 'say', params: Type.Object({ lines: Type.Array(Type.String()) }) },
    function* say({ lines }) {
      yield* lines;
      throw new RpcError(77, lines.join(''));
    },
  );
  router.rpc({ name: 'waits' }, async function* waits(_params, { signal }) {
    stage.begun++;
    try {
      yield 'first';
      await once(signal, 'abort');
    } finally {
      stage.ended++;
      stage.emit('ended');
    }
  });
  router.rpc(
    { name: 'flood', params: Type.Object({ length: Type.Integer() }) },
    async function* flood({ length }) {
      const text = 'x'.repeat(length);
      try {
        for (;;) {
          stage.flooded++;
          yield text;
        }
      } finally {
        stage.ended++;
        stage.emit('ended');
      }
    },
  );
  router.rpc({ name: 'holds', placement: 'inline' }, async () => {
    stage.emit('holds');
    await once(stage, 'release');
  });
  router.rpc({ name: 'plain' }, () => 'plain');
  return router;
}

for (const transport of servers) {
  const start = async (t: TestContext, options: AppOptions = {}) => {
    const stage = new Stage();
    const { app, client } = await serve(t, transport, { router: routerOf(stage), ...options });
    const open = (headers?: Readonly<Record<string, string>>) => RawSocket.open(client(), headers);
    return { stage, app, open };
  };

  describe(`subscriptions over a WebSocket (${transport})`, () => {
    test('the reply names the subscription, the values follow in order, and the end has its own method', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      const { id, result } = JSON.parse(await socket.ask(rpc('ticks', { n: 1000 }, 'ten')));
      assert.equal(id, 'ten');
      assert.match(result, /^0x[\da-f]+$/);
      for (let i = 0; i < 1000; i++) {
        assert.equal(
          await socket.receive(),
          `{"jsonrpc":"2.0","method":"ticks","params":{"subscription":"${result}","result":${i}}}`,
        );
      }
      assert.equal(
        await socket.receive(),
        `{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"${result}","result":"all"}}`,
      );
      assert.equal(JSON.parse(await socket.ask(rpc('plain'))).result, 'plain');
    });

    test('ids of subscriptions are a counter of 10 hexadecimal digits, whoever opens them', async (t) => {
      const { open } = await start(t);
      const [one, other] = [await open(), await open()];
      const ids: string[] = [];
      for (const socket of [one, other, one]) {
        ids.push(JSON.parse(await socket.ask(rpc('waits'))).result);
        await socket.receive();
      }
      const [first = ''] = ids;
      assert.match(first, /^0x[\da-f]{10}$/);
      const number = Number.parseInt(first, 16);
      assert.deepEqual(
        ids,
        [number, number + 1, number + 2].map((id) => `0x${id.toString(16)}`),
      );
    });

    test('é, ÿ, C1 and wide characters arrive as UTF-8 in values and in the error of the end', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      for (const lines of [...texts.map((text) => [text]), texts]) {
        await socket.ask(rpc('say', { lines }));
        for (const line of lines) {
          const { params }: Notification = JSON.parse(await socket.receive());
          assert.equal(params.result, line);
        }
        const { params }: Notification = JSON.parse(await socket.receive());
        assert.deepEqual(params.error, { code: 77, message: lines.join('') });
      }
    });

    test('a stream that fails says so at its end: at once, or later', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      for (const n of [0, 2]) {
        const { result } = JSON.parse(await socket.ask(rpc('fails', { n })));
        for (let i = 0; i < n; i++) await socket.receive();
        const { method, params }: Notification = JSON.parse(await socket.receive());
        assert.equal(method, 'rpc.end');
        const error = { code: 77, message: 'No more', data: { last: n } };
        assert.deepEqual(params, { subscription: result, error });
      }
    });

    test('in a batch no value comes before the array of the replies', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      const batch = [
        rpc('ticks', { n: 2 }, 'a'),
        rpc('plain', {}, 'b'),
        rpc('ticks', { n: 1 }, 'c'),
      ];
      const replies = JSON.parse(await socket.ask(`[${batch.join()}]`));
      assert.deepEqual(
        replies.map(({ id }: { readonly id: string }) => id),
        ['a', 'b', 'c'],
      );
      const seen: Record<string, unknown[]> = {};
      for (let i = 0; i < 5; i++) {
        const { method, params }: Notification = JSON.parse(await socket.receive());
        seen[params.subscription] ??= [];
        seen[params.subscription]?.push(method === 'rpc.end' ? 'end' : params.result);
      }
      assert.deepEqual(seen, {
        [replies[0].result]: [0, 1, 'end'],
        [replies[2].result]: [0, 'end'],
      });
    });

    test('the methods of a subscription follow from its name, or are what its procedure says', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      const names = {
        ticks: ['ticks', undefined],
        eth_subscribe: ['eth_subscription', 'eth_unsubscribe'],
        subscribe: ['subscription', 'unsubscribe'],
        slotSubscribe: ['slotNotification', 'slotEnd'],
      } as const;
      for (const [name, [notification, unsubscribe]] of Object.entries(names)) {
        for (const ending of ['rpc.unsubscribe', unsubscribe]) {
          if (ending === undefined) continue;
          const { result } = JSON.parse(await socket.ask(rpc(name, { n: 1e9 })));
          const { method, params }: Notification = JSON.parse(await socket.receive());
          assert.deepEqual([method, params.subscription], [notification, result]);
          await socket.send(rpc(ending, [result], 'end'));
          let reply: { id?: string; result?: unknown };
          do reply = JSON.parse(await socket.receive());
          while (reply.id === undefined);
          assert.deepEqual([reply.id, reply.result], ['end', true]);
          // Nothing follows for that id, no end either.
          assert.equal(JSON.parse(await socket.ask(rpc('plain'))).result, 'plain');
          assert.equal(JSON.parse(await socket.ask(rpc(ending, [result]))).result, false);
        }
      }
    });

    test('rpc.unsubscribe takes the id by position and by name; others have no such subscription', async (t) => {
      const { open, stage } = await start(t);
      const [one, other] = [await open(), await open()];
      const { result } = JSON.parse(await one.ask(rpc('waits')));
      await one.receive();
      assert.equal(JSON.parse(await other.ask(rpc('rpc.unsubscribe', [result]))).result, false);
      for (const params of [[], [7], {}, ['a', 'b']]) {
        const { error } = JSON.parse(await one.ask(rpc('rpc.unsubscribe', params)));
        assert.equal(error.code, -32602);
      }
      const unsubscribed = await one.ask(rpc('rpc.unsubscribe', { subscription: result }));
      assert.equal(JSON.parse(unsubscribed).result, true);
      await stage.hasEnded(1);
    });

    test('without an id a stream does not run; where its call fails there is none', async (t) => {
      const { open } = await start(t);
      const socket = await open();
      await socket.send('{"jsonrpc":"2.0","method":"ticks","params":{"n":3}}');
      assert.equal(JSON.parse(await socket.ask(rpc('ticks', { n: 'x' }))).error.code, -32602);
      assert.equal(JSON.parse(await socket.ask(rpc('plain'))).result, 'plain');
    });

    test('a stream too many of one connection is refused with the limit; those of others are not', async (t) => {
      const { open } = await start(t, { maxStreamsPerConnection: 2 });
      const [one, other] = [await open(), await open()];
      const replies = JSON.parse(
        await one.ask(`[${[1, 2, 3].map((id) => rpc('waits', {}, id)).join()}]`),
      );
      assert.deepEqual(replies[2].error, {
        code: -32004,
        message: 'Limit exceeded',
        data: { limit: 2 },
      });
      await one.receive();
      await one.receive();
      assert.equal(JSON.parse(await one.ask(rpc('waits'))).error.code, -32004);
      assert.match(JSON.parse(await other.ask(rpc('waits'))).result, /^0x/);
      await one.ask(rpc('rpc.unsubscribe', [replies[0].result]));
      assert.match(JSON.parse(await one.ask(rpc('waits'))).result, /^0x/);
    });

    test('the streams of a client that goes end', async (t) => {
      const { open, stage } = await start(t);
      const socket = await open();
      for (let i = 0; i < 3; i++) await socket.send(rpc('waits', {}, i));
      for (let i = 0; i < 6; i++) await socket.receive();
      socket.destroy();
      await stage.hasEnded(3);
    });

    test('a client that does not read is not produced for: its generators wait, and others go on', async (t) => {
      const { open, stage, app } = await start(t, { maxReplyBytes: 64 * 1024 ** 2 });
      const [socket, other] = [await open(), await open()];
      const reply = await socket.ask(rpc('flood', { length: 10_000 }));
      socket.client.socket.pause();
      // Beyond what the kernel holds for both sides.
      let before = -1;
      for (let still = 0; still < 20; still++) {
        await pause(5);
        if (stage.flooded !== before) still = 0;
        before = stage.flooded;
      }
      const { waiting } = app.dispatcher.stats().replies;
      // The high water, what is sent together, and a window: of each the last value may be more.
      const most = (64 + 16 + 64) * 1024 + 3 * 10_100;
      assert.ok(waiting <= most, `${waiting} bytes wait`);
      const { result } = JSON.parse(await other.ask(rpc('ticks', { n: 3 })));
      assert.match(result, /^0x/);
      // It reads again: nothing is lost, and the generator goes on.
      socket.client.socket.resume();
      for (let i = 0; i < before + 100; i++) {
        const { params }: Notification = JSON.parse(await socket.receive());
        assert.equal(params.subscription, JSON.parse(reply).result);
        assert.equal(String(params.result).length, 10_000);
      }
    });

    test('a client that does not read at all is cut, and its streams end', async (t) => {
      const { open, stage, app } = await start(t, { bodyTimeoutMs: 200 });
      const socket = await open();
      await socket.ask(rpc('flood', { length: 10_000 }));
      socket.client.socket.pause();
      await stage.hasEnded(1);
      await until(() => app.dispatcher.metrics?.snapshot().gauges?.connections === 0);
    });

    test("the caller's time ends a stream", async (t) => {
      const { open, stage } = await start(t);
      const socket = await open({ 'rpc-timeout-ms': '50' });
      // On a busy machine the time may be over before the stream opens: then it ends the call.
      let reply: { result?: unknown; error?: { code: number } };
      do {
        reply = JSON.parse(await socket.ask(rpc('waits')));
        if (reply.error !== undefined) assert.equal(reply.error.code, -32001);
      } while (reply.error !== undefined);
      let end: Notification;
      do end = JSON.parse(await socket.receive());
      while (end.method === 'waits');
      assert.deepEqual([end.method, end.params.error?.code], ['rpc.end', -32001]);
      assert.deepEqual(end.params.error?.data, { timeoutMs: 50 });
      assert.equal(end.params.subscription, reply.result);
      // It may have ended before its reply was read here.
      await stage.hasEnded(stage.begun);
    });

    test('a message that comes in a drain has not run, and what was there before is answered', async (t) => {
      const { open, stage, app } = await start(t);
      const socket = await open();
      await socket.send(rpc('holds', {}, 'before'));
      await once(stage, 'holds');
      const closing = app.close();
      for (const late of [rpc('plain', {}, 'late'), `[${rpc('plain', {}, 'late')}]`]) {
        const { error } = [JSON.parse(await socket.ask(late))].flat()[0];
        assert.deepEqual([error.code, error.data.reason], [-32003, 'shutdown']);
      }
      stage.emit('release');
      assert.deepEqual(JSON.parse(await socket.receive()).id, 'before');
      assert.equal(await socket.closeCode(), 1012);
      await closing;
    });

    test('a drain ends the streams and says why, then closes with 1012', async (t) => {
      const { open, app } = await start(t);
      const [socket, idle] = [await open(), await open()];
      const { result } = JSON.parse(await socket.ask(rpc('waits')));
      await socket.receive();
      const closing = app.close();
      assert.equal(await idle.closeCode(), 1012);
      const { method, params }: Notification = JSON.parse(await socket.receive());
      assert.deepEqual([method, params.subscription], ['rpc.end', result]);
      assert.equal(params.error?.code, -32003);
      const { reason, retryAfterMs } = (params.error?.data ?? {}) as Record<string, unknown>;
      assert.equal(reason, 'shutdown');
      assert.ok(Number(retryAfterMs) >= 0 && Number(retryAfterMs) <= 1000);
      assert.equal(await socket.closeCode(), 1012);
      await closing;
    });
  });
}
