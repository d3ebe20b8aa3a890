import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import express from 'express';
import { type AppOptions, handleRequest, Router } from '../../../src/index.ts';
import { mountApp, startApp, TestService } from '../../harness.ts';
import { postJson as post } from '../../post-json.ts';
import { servers } from '../../servers.ts';
import { openRpcFaults } from './validator.ts';

function routerOf(...names: string[]): Router {
  const router = new Router();
  for (const name of names) router.rpc({ name, placement: 'inline' }, () => 1);
  return router;
}

async function serve(t: TestContext, options: AppOptions): Promise<string> {
  return (await startApp(t, options)).url;
}

const discover = { jsonrpc: '2.0', id: 1, method: 'rpc.discover' };

for (const transport of servers) {
  describe(`the OpenRPC document on ${transport}`, () => {
    test('answers GET ?format=openrpc, with an ETag of its own', async (t) => {
      const url = await serve(t, { router: routerOf('a.b'), transport });
      const response = await fetch(`${url}?format=openrpc`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'application/json');
      const document = (await response.json()) as { methods: { name: string }[] };
      assert.deepEqual(openRpcFaults(document), []);
      assert.deepEqual(
        document.methods.map(({ name }) => name),
        ['a.b'],
      );
      const etag = response.headers.get('etag') ?? '';
      const plain = await fetch(url);
      assert.notEqual(plain.headers.get('etag'), etag);
      assert.deepEqual(Object.keys((await plain.json()) as object), ['a.b']);

      const again = await fetch(`${url}?format=openrpc`, { headers: { 'if-none-match': etag } });
      assert.equal(again.status, 304);
      assert.equal(await again.text(), '');
      const head = await fetch(`${url}?format=openrpc`, { method: 'HEAD' });
      assert.equal(head.headers.get('etag'), etag);
      assert.equal(
        head.headers.get('content-length'),
        String(Buffer.byteLength(JSON.stringify(document))),
      );
    });

    test('passes over other parameters, and refuses a format it does not know', async (t) => {
      const url = await serve(t, { router: routerOf('a'), transport });
      for (const query of ['', '?', '?x=1', '?formats=openrpc', '?FORMAT=openrpc']) {
        const document = (await (await fetch(url + query)).json()) as object;
        assert.deepEqual(Object.keys(document), ['a'], query);
      }
      for (const query of ['?x=1&format=openrpc', '?format=%6fpenrpc&y']) {
        const document = (await (await fetch(url + query)).json()) as { openrpc?: string };
        assert.equal(document.openrpc, '1.4.1', query);
      }
      const refused = await fetch(`${url}?format=x`, { method: 'HEAD' });
      assert.equal(refused.status, 400);
    });

    test('is off with introspection: false', async (t) => {
      const url = await serve(t, { router: routerOf('a'), transport, introspection: false });
      for (const query of ['', '?format=openrpc', '?format=x']) {
        assert.equal((await fetch(url + query)).status, 405, query);
      }
      const { error } = (await (await post(url, discover)).json()) as { error: { code: number } };
      assert.equal(error.code, -32601);
    });

    test('is what rpc.discover answers, alone and in a batch', async (t) => {
      const url = await serve(t, { router: routerOf('a'), transport });
      const document: unknown = await (await fetch(`${url}?format=openrpc`)).json();
      assert.deepEqual(await (await post(url, discover)).json(), {
        jsonrpc: '2.0',
        id: 1,
        result: document,
      });
      const batch = [
        { jsonrpc: '2.0', id: 'x', method: 'a' },
        { ...discover, params: [] },
        { jsonrpc: '2.0', method: 'rpc.discover' },
        { ...discover, id: 2, params: {} },
      ];
      const replies = (await (await post(url, batch)).json()) as { id: unknown; result: unknown }[];
      assert.deepEqual(
        replies.map(({ id }) => id),
        ['x', 1, 2],
      );
      assert.deepEqual(replies[1]?.result, document);
      assert.deepEqual(replies[2]?.result, document);
      assert.equal((await post(url, { jsonrpc: '2.0', method: 'rpc.discover' })).status, 204);
    });
  });
}

describe('the OpenRPC document behind a mount', () => {
  test('is asked for in the query, wherever the handler is mounted', async (t) => {
    const { port } = await mountApp(t, { router: routerOf('a') }, (app) => {
      const handler = app.nodeHandler();
      return express().use('/under', handler).all('/at', handler);
    });
    for (const path of ['/under', '/at']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}?format=openrpc`);
      assert.equal(((await response.json()) as { openrpc: string }).openrpc, '1.4.1', path);
    }
  });
});

describe('rpc.discover', () => {
  test('takes no params', async () => {
    for (const params of [[1], { a: 1 }]) {
      const reply = (await handleRequest({ ...discover, params }, routerOf('a'))) as {
        error: { code: number; data: unknown[] };
      };
      assert.equal(reply.error.code, -32602);
      assert.equal(reply.error.data.length, 1);
    }
  });

  test('sees what was registered and replaced since', async () => {
    const router = routerOf('a');
    const names = async (): Promise<string[]> => {
      const { result } = (await handleRequest(discover, router)) as {
        result: { methods: { name: string; description?: string }[] };
      };
      return result.methods.map(({ name, description = '' }) => name + description);
    };
    assert.deepEqual(await names(), ['a']);
    router.merge(routerOf('b'));
    assert.deepEqual(await names(), ['a', 'b']);
    const other = new Router();
    other.rpc({ name: 'a', doc: '!', placement: 'inline' }, () => 1);
    router.merge(other, '', { replace: true });
    assert.deepEqual(await names(), ['a!', 'b']);
  });

  test('is suggested to nobody and listed nowhere', async () => {
    const router = routerOf('a');
    const reply = (await handleRequest({ ...discover, method: 'rpc.discove' }, router)) as {
      error: { code: number; data: unknown };
    };
    assert.deepEqual(reply.error.data, { method: 'rpc.discove' });
    assert.deepEqual(router.list(), ['a']);
  });

  test('counts towards the limit of a reply, and of a batch', async (t) => {
    const router = new Router();
    router.rpc({ name: 'wordy', placement: 'inline', doc: 'x'.repeat(40_000) }, () => 1);
    const { dispatcher } = await TestService.start(t, { router, maxReplyBytes: 100_000 });
    const batch = Array.from({ length: 4 }, (_, id) => ({ ...discover, id }));
    const replies = (await dispatcher.dispatch(batch)) as { error?: { code: number } }[];
    assert.deepEqual(
      replies.map(({ error }) => error?.code),
      [undefined, undefined, -32004, -32004],
    );
    const small = TestService.make(t, { router, maxReplyBytes: 10_000 });
    const { error } = (await small.dispatcher.dispatch(discover)) as { error: { code: number } };
    assert.equal(error.code, -32004);
  });
});
