/** docs/protocol.md, "Tools for agents (MCP)": the limits of the calls hold for agents, over each server. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { RpcError } from '../../src/index.ts';
import { suiteLifetime } from '../harness.ts';
import { header, post } from '../http/raw-client.ts';
import { Exposition } from '../observe/exposition.ts';
import { servers } from '../servers.ts';
import { until } from '../turns.ts';
import { headersOf, legacy, meta, modern, replied, Stage, textOf } from './stage.ts';

const kib = 1024;

for (const transport of servers) {
  describe(`limits of MCP on ${transport}`, () => {
    const lifetime = suiteLifetime();
    let stage: Stage;
    before(async () => {
      stage = await Stage.start(lifetime, {
        transport,
        maxBodyBytes: 1024 * kib,
        maxReplyBytes: 512 * kib,
        rateLimit: { calls: 1_000_000 },
      });
    });

    test('a body: what announces more than the limit is 413, without an id', async () => {
      const own = stage.connect();
      const response = await own.ask(
        post('x'.repeat(1024 * kib + 1), { host: 'localhost' }, '/mcp'),
      );
      const reply = replied(response);
      assert.deepEqual(
        [response.status, reply.error?.code, reply.error?.data, 'id' in reply],
        [413, -32600, { limit: 1024 * kib }, false],
      );
      const wrongType = await stage.send(modern('ping'), { 'content-type': 'text/plain' });
      assert.deepEqual([wrongType.status, 'id' in replied(wrongType)], [415, false]);
      const wrongTime = await stage.send(modern('ping'), { 'rpc-timeout-ms': 'x' });
      assert.equal(wrongTime.status, 400);
    });

    test('large arguments reach a worker to the letter, wherever they stand in the body', async () => {
      const text = 'é"\\'.repeat(100 * kib);
      const members = {
        name: '"name":"text_length"',
        arguments: `"arguments":${JSON.stringify({ text })}`,
        meta: `"_meta":${JSON.stringify(meta)}`,
        // What a client may send besides, large too.
        other: `"other":"${'x'.repeat(100 * kib)}"`,
      };
      const orders = [
        ['name', 'arguments', 'meta'],
        ['arguments', 'name', 'meta'],
        ['meta', 'other', 'arguments', 'name'],
        ['arguments', 'other', 'meta', 'name'],
      ] as const;
      for (const order of orders) {
        const params = `{${order.map((name) => members[name]).join(' ,\n')}}`;
        for (const body of [
          `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":${params}}`,
          `{"params" : ${params},"method":"tools/call","id":5,"jsonrpc":"2.0"}`,
        ]) {
          const response = await stage.send(body, {
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': 'tools/call',
            'mcp-name': 'text_length',
          });
          const reply = replied(response);
          assert.equal(reply.id, 5);
          assert.deepEqual(reply.result?.structuredContent, { length: text.length });
        }
      }
      assert.equal(stage.app.dispatcher.stats().bodies.inUse, 0);
    });

    test('a long result stands in its reply twice, and both are what the procedure returned', async () => {
      const length = 60 * kib;
      const { structuredContent, content } = await stage.call('text_long', { length });
      assert.equal(structuredContent, undefined);
      assert.deepEqual(JSON.parse(textOf({ content } as never)), { text: '"é'.repeat(length / 2) });
      const said = await stage.call('text_said', { length });
      assert.equal(textOf(said), '"é'.repeat(length / 2));
    });

    test('a reply: what would be larger is a result that says so', async () => {
      for (const length of [250 * kib, 400 * kib, 2048 * kib]) {
        const result = await stage.call('text_long', { length });
        assert.equal(result.isError, true, String(length));
        assert.equal(textOf(result), `Limit exceeded (-32004)\n{"limit":${512 * kib}}`);
      }
    });

    test('the time that the caller gives', async () => {
      const body = modern('tools/call', { name: 'waits' });
      const response = await stage.send(body, { ...headersOf(body), 'rpc-timeout-ms': '20' });
      const { result } = replied(response);
      assert.equal(textOf(result ?? assert.fail()), 'Deadline exceeded (-32001)\n{"timeoutMs":20}');
    });

    test('a client that goes cancels its call', async () => {
      const counts = async (): Promise<{ waiting: number; aborted: number }> =>
        JSON.parse(textOf(await stage.call('counts')));
      const earlier = await counts();
      const leaving = stage.connect();
      const body = modern('tools/call', { name: 'waits' });
      await leaving.write(post(body, { host: 'localhost', ...headersOf(body) }, '/mcp'));
      await until(async () => (await counts()).waiting !== earlier.waiting);
      leaving.destroy();
      await until(async () => (await counts()).aborted !== earlier.aborted);
    });

    test('calls are counted, limited and told of as all others', async () => {
      const response = await stage.ask('tools/call', {
        name: 'math_add',
        arguments: { a: 1, b: 1 },
      });
      assert.match(header(response, 'ratelimit') ?? '', /^"default";r=\d+;t=\d+$/);
      const text = await stage.app.dispatcher.metrics?.bytes();
      const calls = new Exposition(text ?? assert.fail()).calls();
      assert.ok((calls['math.add 0 inline'] ?? 0) > 0, JSON.stringify(calls));
    });
  });

  test(`too much work is told as a result on ${transport}`, async (t) => {
    let asked = 0;
    const admit = () => ({ retryAfterMs: asked++ === 0 ? 0 : 5, left: 0, resetMs: 5 });
    const stage = await Stage.start(t, {
      transport,
      rateLimit: { calls: 1, store: { admit, charge: () => {} } },
      authenticate: ({ headers }) => {
        if (headers.authorization === undefined) throw new RpcError(4010, 'Log in');
        return headers.authorization;
      },
    });
    const body = legacy('tools/call', { name: 'math_add', arguments: { a: 1, b: 1 } });
    const texts: string[] = [];
    for (let i = 0; i < 3; i++) {
      const response = await stage.send(body, { authorization: 'me' });
      assert.equal(response.status, 200);
      texts.push(textOf(replied(response).result ?? assert.fail()));
    }
    const refused =
      'Server overloaded (-32000)\n{"reason":"rate","limit":"rateLimit","retryAfterMs":5,"retry":true}';
    assert.deepEqual(texts, ['2', refused, refused]);
  });

  test(`each call of a batch is in flight for its caller while it runs (${transport})`, async (t) => {
    const stage = await Stage.start(t, { transport, maxInFlightPerCaller: 1 });
    const waiting = async () => {
      const result = await stage.call('counts');
      return result.isError
        ? undefined
        : (JSON.parse(textOf(result)) as { waiting: number }).waiting;
    };
    const before = await waiting();
    const calls = ['who', 'waits'].map((name, id) => legacy('tools/call', { name }, id));
    const own = stage.connect();
    await own.write(post(`[${calls.join()}]`, { host: 'localhost' }, '/mcp'));
    // The second call of the batch may not have begun. Once it has, nothing else of this caller runs.
    for (;;) {
      const now = await waiting();
      if (now === undefined) break;
      assert.equal(now, before, 'it runs, and is not counted');
    }
  });
}
