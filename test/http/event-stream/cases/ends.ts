import assert from 'node:assert/strict';
import type { EventCase } from '../case.ts';
import { rpc } from '../stage.ts';

const internal = /^{"ref":"[0-9a-f-]{13}"}$/;

/** What ends a stream, and what its last event says. */
export const ends: readonly EventCase[] = [
  {
    name: 'what the generator throws: an RpcError whole, anything else by its ref alone',
    async run(stage) {
      const client = stage.client();
      client.send(rpc('refuses'));
      const [value, error] = await client.events();
      assert.equal(value?.params?.result, 1);
      assert.deepEqual(error, {
        jsonrpc: '2.0',
        id: 1,
        error: { code: 17, message: 'Sold out', data: { left: 0 } },
      });
      for (const method of ['fails', 'mismatched']) {
        client.send(rpc(method));
        const [one, fault] = await client.events();
        assert.equal(one?.params?.result, 1);
        assert.equal(fault?.error?.code, -32603);
        assert.match(JSON.stringify(fault?.error?.data), internal);
      }
    },
  },
  {
    name: 'a value, or what is returned, above maxReplyBytes',
    options: { maxReplyBytes: 10_000 },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('texts', { size: 6000, count: 3 }));
      const [first] = await client.events();
      assert.deepEqual(first?.error?.data, { limit: 10_000 });
      await stage.untilClosed();
      client.send(rpc('returns'));
      const [, last] = await client.events();
      assert.deepEqual([last?.error?.code, last?.error?.data], [-32004, { limit: 10_000 }]);
    },
  },
  {
    name: 'the time that the caller gives it bounds all of the stream',
    async run(stage) {
      const client = stage.client();
      let timeoutMs = 150;
      // On a busy machine the time may be over before the stream opens: then the call ends as any does.
      do {
        timeoutMs *= 2;
        client.send(rpc('quiet'), { 'rpc-timeout-ms': `${timeoutMs}` });
        await client.end();
      } while (client.header('content-type') !== 'text/event-stream');
      const end = (await client.events()).at(-1);
      assert.deepEqual([end?.id, end?.error?.code], [1, -32001]);
      assert.deepEqual(end?.error?.data, { timeoutMs });
      await stage.untilClosed();
    },
  },
  {
    name: 'the longest time that a stream may be open',
    options: { maxStreamMs: 200 },
    async run(stage) {
      const client = stage.client();
      client.send(rpc('quiet'));
      assert.deepEqual((await client.events()).at(-1)?.error?.data, { timeoutMs: 200 });
    },
  },
  {
    name: 'the end of the service, which says when to come back',
    async run(stage) {
      const [client, busy] = [stage.client(), stage.client()];
      client.send(rpc('quiet'));
      busy.send(rpc('count', { to: 1e9 }));
      await Promise.all([client.event(), busy.event()]);
      await stage.service.close();
      for (const one of [client, busy]) {
        const end = (await one.events()).at(-1);
        assert.deepEqual([end?.id, end?.error?.code], [1, -32003]);
        const told = JSON.stringify(end?.error?.data);
        const [, ms] = /^{"reason":"shutdown","retryAfterMs":(\d+)}$/.exec(told) ?? [];
        assert.ok(Number(ms) <= 1000, told);
      }
    },
  },
  {
    name: 'the client leaves: the signal aborts and the finally block runs',
    async run(stage) {
      for (const body of [rpc('quiet'), rpc('count', { to: 1e9 })]) {
        const client = stage.client();
        client.send(body);
        await client.event();
        client.destroy();
      }
      await stage.untilClosed(2);
    },
  },
  {
    name: 'an open stream holds no body, and is no request in flight',
    async run(stage) {
      const client = stage.client();
      client.send(rpc('quiet'));
      await client.event();
      assert.equal(stage.service.stats().inFlight, 0);
      assert.equal(stage.service.bodyMemory.stats().inUse, 0);
    },
  },
];
