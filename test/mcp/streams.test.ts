/** docs/protocol.md, "Tools for agents (MCP)": streaming procedures, over each server. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { suiteLifetime } from '../harness.ts';
import { EventClient } from '../http/event-stream/event-client.ts';
import { header, post } from '../http/raw-client.ts';
import { servers } from '../servers.ts';
import { deferred } from '../turns.ts';
import { headersOf, legacy, meta, replied, Stage, textOf } from './stage.ts';

for (const transport of servers) {
  describe(`streams as tools on ${transport}`, () => {
    const lifetime = suiteLifetime();
    let stage: Stage;
    before(async () => {
      stage = await Stage.start(lifetime, { transport, maxReplyBytes: 16 * 1024 });
    });

    test('progress is told where it is asked for, and the result is the call’s own', async () => {
      for (const isLegacy of [false, true]) {
        const notes = await stage.events('steps', { n: 3 }, 'a"b', isLegacy);
        const progress = (n: number) => ({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: 'a"b', progress: n, total: 3, message: `step ${n}` },
        });
        assert.deepEqual(notes.slice(0, -1), [progress(0), progress(1), progress(2)]);
        const { id, result } = notes.at(-1) ?? assert.fail();
        assert.equal(id, 1);
        assert.deepEqual(result?.structuredContent, { done: 3 });
        assert.equal('resultType' in (result ?? {}), !isLegacy);
      }
    });

    test('values of any kind are steps, and gathered where the procedure lets them be', async () => {
      const notes = await stage.events('rows', { n: 3 }, 7);
      assert.deepEqual(
        notes.slice(0, -1).map(({ params }) => params),
        [1, 2, 3].map((n) => ({ progressToken: 7, progress: n, message: String(n - 1) })),
      );
      assert.deepEqual(notes.at(-1)?.result?.structuredContent, [0, 1, 2]);
    });

    test('an error in the middle is the result of the call', async () => {
      const notes = await stage.events('breaks', undefined, 1);
      assert.equal(notes.length, 2);
      const { isError, content } = notes[1]?.result ?? {};
      assert.deepEqual([isError, textOf({ content } as never)], [true, 'It broke (7)']);
    });

    test('without a token, or without an Accept for events, the result comes alone', async () => {
      assert.deepEqual((await stage.call('steps', { n: 2 })).structuredContent, { done: 2 });
      assert.deepEqual((await stage.call('rows', { n: 2 })).structuredContent, [0, 1]);
      assert.equal(textOf(await stage.call('breaks')), 'It broke (7)');
      const own = { ...meta, progressToken: 1 };
      const body = legacy('tools/call', { name: 'rows', arguments: { n: 2 }, _meta: own });
      const response = await stage.send(body, headersOf(body));
      assert.deepEqual(replied(response).result?.structuredContent, [0, 1]);
      const batch = await stage.send(
        `[${legacy('tools/call', { name: 'rows', arguments: { n: 2 } })}]`,
        { accept: 'text/event-stream' },
      );
      assert.equal(header(batch, 'content-type'), 'application/json');
    });

    test('what fails before the stream opens is an ordinary result', async () => {
      const own = { ...meta, progressToken: 1 };
      const body = legacy('tools/call', { name: 'steps', arguments: { n: 'x' }, _meta: own });
      const response = await stage.send(body, { ...headersOf(body), accept: 'text/event-stream' });
      assert.equal(replied(response).result?.isError, true);
    });

    test('what is gathered has the bound of a reply', async () => {
      const limited = 'Limit exceeded (-32004)\n{"limit":16384}';
      assert.equal(textOf(await stage.call('pages', { n: 20 })), limited);
      const notes = await stage.events('pages', { n: 20 }, 1);
      assert.equal(textOf(notes.at(-1)?.result as never), limited);
    });

    test('lists say what the result is', async () => {
      const tools = (await stage.pages()).flat();
      const schemas = new Map(tools.map(({ name, outputSchema }) => [name, outputSchema]));
      assert.deepEqual(schemas.get('rows'), { type: 'array', items: { type: 'integer' } });
      assert.deepEqual(schemas.get('breaks'), undefined);
      assert.equal(schemas.has('secret'), false);
    });
  });

  test(`a client that leaves ends the stream of its call on ${transport}`, async (t) => {
    const hasEnded = deferred<void>();
    const router = new Router();
    router.rpc({ name: 'endless' }, async function* (_params, { signal }) {
      try {
        for (let n = 0; ; n++) {
          yield n;
          if (signal.aborted) return;
          await new Promise(setImmediate);
        }
      } finally {
        hasEnded.resolve();
      }
    });
    const stage = await Stage.start(t, { router, transport });
    const client = new EventClient(stage.port);
    const own = { ...meta, progressToken: 1 };
    const body = legacy('tools/call', { name: 'endless', _meta: own });
    const accept = 'application/json, text/event-stream';
    client.write(post(body, { host: 'localhost', accept, ...headersOf(body) }, '/mcp'));
    await client.event();
    client.destroy();
    await hasEnded.promise;
  });
}
