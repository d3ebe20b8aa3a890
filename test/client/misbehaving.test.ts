import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { createClient, hasCode, RpcError, RpcTransportError } from '../../src/client/index.ts';
import { webSocket } from '../../src/client/socket.ts';
import { Router } from '../../src/index.ts';
import { freePort } from '../free-port.ts';
import { startApp } from '../harness.ts';
import { type Answer, answering, answerJson, type Reply, result, serveRaw } from './raw-server.ts';

async function refused(call: Promise<unknown>, why: RegExp): Promise<RpcTransportError> {
  const error = await call.then(
    (value) => assert.fail(`answered ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RpcTransportError, String(error));
  assert.match(error.message, why);
  return error;
}

describe('a single call refuses', () => {
  const wrong: Record<string, [Reply, RegExp]> = {
    'another id': [(id) => result(Number(id) + 1), /unknown id: \d+/],
    'the id as a string': [(id) => ({ ...Object(result(id)), id: String(id) }), /unknown id/],
    'no id': [() => ({ jsonrpc: '2.0', result: 1 }), /unknown id: undefined/],
    'null for an id, with a result': [
      () => ({ jsonrpc: '2.0', id: null, result: 1 }),
      /unknown id: null/,
    ],
    'a list of one': [(id) => [result(id)], /unknown id: undefined/],
    'neither result nor error': [(id) => ({ jsonrpc: '2.0', id }), /malformed/],
    'both result and error': [
      (id) => ({ jsonrpc: '2.0', id, result: 1, error: { code: 1, message: 'x' } }),
      /malformed/,
    ],
    'an error without a code': [(id) => ({ id, error: { message: 'x' } }), /malformed/],
    'an error that is text': [(id) => ({ id, error: 'x' }), /malformed/],
    'an error that is null': [(id) => ({ id, error: null }), /malformed/],
    null: [() => null, /unknown id: undefined/],
    'a number': [() => 7, /unknown id: undefined/],
  };
  for (const [name, [reply, why]] of Object.entries(wrong)) {
    it(name, async (t) => {
      const { url } = await serveRaw(t, answering(reply));
      const error = await refused(createClient({ url }).call('m'), why);
      assert.equal(error.url, url);
      assert.equal(error.status, 200);
      assert.equal(error.contentType, 'application/json');
    });
  }
});

describe('a batch refuses', () => {
  const calls = [['a'], ['b'], ['c']] as const;
  const run = async (t: TestContext, reshape: (ids: number[]) => unknown) => {
    const { url } = await serveRaw(t, ({ ids }, response) =>
      answerJson(response, reshape(ids as number[])),
    );
    return createClient({ url }).batch(calls);
  };
  const allRefused = async (t: TestContext, reshape: (ids: number[]) => unknown, why: RegExp) => {
    for (const outcome of await run(t, reshape)) {
      assert.ok(!outcome.ok && outcome.error instanceof RpcTransportError);
      assert.match(outcome.error.message, why);
    }
  };

  it('whole, where an id comes twice', (t) =>
    allRefused(t, ([a, b]) => [a, b, b].map(result), /unknown id/));
  it('whole, where an id is unknown', (t) =>
    allRefused(t, ([a, b, c]) => [a, b, c, 1e9].map(result), /unknown id: 1000000000/));
  it('whole, where an id is missing', (t) =>
    allRefused(t, ([a, b]) => [result(a), result(b), { result: 1 }], /unknown id: undefined/));
  it('whole, where it is one object', (t) => allRefused(t, ([a]) => result(a), /not an array/));

  it('only the call without a reply, where the others have theirs', async (t) => {
    const [a, b, c] = await run(t, (ids) => [result(ids[2]), result(ids[0])]);
    assert.ok(a?.ok && c?.ok);
    assert.match(String(a.result), /^of \d+$/);
    assert.equal(Number(String(c.result).slice(3)), Number(String(a.result).slice(3)) + 2);
    assert.ok(b && !b.ok && b.error instanceof RpcTransportError);
    assert.match(b.error.message, /no reply with id/);
  });

  it('nothing, where the replies stand in another order', async (t) => {
    const sent: number[] = [];
    const outcomes = await run(t, (ids) => {
      sent.push(...ids);
      return ids.toReversed().map(result);
    });
    assert.deepEqual(
      outcomes.map((outcome) => outcome.ok && outcome.result),
      sent.map((id) => `of ${id}`),
    );
  });

  it('nothing, where the server refuses it whole: each call gets that error', async (t) => {
    const error = { code: -32700, message: 'Parse error', data: 1 };
    const outcomes = await run(t, () => ({ jsonrpc: '2.0', id: null, error }));
    for (const [i, outcome] of outcomes.entries()) {
      assert.ok(!outcome.ok && outcome.error instanceof RpcError);
      const { code, data, method } = outcome.error;
      assert.deepEqual([code, data, method], [-32700, 1, calls[i]?.[0]]);
    }
  });
});

describe('a call names what answered in place of the server', () => {
  const say =
    (status: number, type: string, body: string): Answer =>
    (_, response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(body);
    };
  const refusedBy = async (t: TestContext, answer: Answer, why: RegExp) =>
    refused(createClient({ url: (await serveRaw(t, answer)).url }).call('m'), why);

  it('HTML with 502', async (t) => {
    const html = `<html>${'x'.repeat(5000)}</html>`;
    const type = 'text/html; charset=utf-8';
    const error = await refusedBy(t, say(502, type, html), /not JSON/);
    assert.equal(error.status, 502);
    assert.equal(error.contentType, type);
    assert.equal(error.body, html.slice(0, 200));
    assert.ok(error.message.startsWith(`${error.url} (502 ${type})`));
    assert.ok(error.message.includes('<html>xxx') && error.message.length < 500);
  });

  it('JSON that is no JSON-RPC, with 502', async (t) => {
    const body = '{"error":"bad gateway"}';
    const error = await refusedBy(t, say(502, 'application/json', body), /unknown id: undefined/);
    assert.equal(error.body, body);
  });

  it('JSON that is cut off', async (t) => {
    await refusedBy(t, say(200, 'application/json', '{"jsonrpc":"2.0","id":1,"res'), /not JSON/);
  });

  it('nothing, where a call wants a reply', async (t) => {
    const nothing: Answer = (_, response) => response.writeHead(204).end();
    const error = await refusedBy(t, nothing, /no reply with id/);
    assert.equal(error.status, 204);
    assert.equal(error.contentType, undefined);
  });

  it('nothing but a bad status, for a notification too', async (t) => {
    const { url } = await serveRaw(t, (_, response) => response.writeHead(503).end());
    await refused(createClient({ url }).notify('m'), /503.*no reply/);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`a redirect with ${status}, which is not followed`, async (t) => {
      const target = await serveRaw(t, answering(result));
      const { url } = await serveRaw(t, (_, response) =>
        response.writeHead(status, { location: target.url }).end(),
      );
      const error = await refused(createClient({ url }).call('m'), /redirects are not followed/);
      assert.ok(error.message.includes(target.url));
      assert.equal(target.received.length, 0);
    });
  }

  it('a connection that was reset', async (t) => {
    const reset: Answer = (_, response) => response.socket?.resetAndDestroy();
    const error = await refusedBy(t, reset, /^http:.*: fetch failed: /);
    assert.equal(error.status, undefined);
    assert.ok(error.cause instanceof Error);
  });

  it('a connection that was reset inside the body', async (t) => {
    const reset: Answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
      response.write('{"jsonrpc"', () => response.socket?.resetAndDestroy());
    };
    const error = await refusedBy(t, reset, /200 application\/json/);
    assert.ok(error.cause instanceof Error);
  });

  it('no server at all', async () => {
    const url = `http://127.0.0.1:${await freePort()}/rpc`;
    const error = await refused(createClient({ url }).call('m'), /ECONNREFUSED/);
    assert.equal(error.url, url);
    assert.equal(error.status, undefined);
  });

  it('fetch with a fault of its own', async () => {
    const broken = () => Promise.reject(new Error('no network here'));
    await refused(createClient({ url: 'http://x', fetch: broken }).call('m'), /no network here/);
  });
});

describe('a call takes', () => {
  it('an error with any HTTP status', async (t) => {
    const reply: Reply = (id) => ({ id, error: { code: 5, message: 'five' } });
    const { url } = await serveRaw(t, answering(reply, 500));
    await assert.rejects(createClient({ url }).call('m'), (error) => hasCode(error, 5));
  });

  it('an error with id null: the server could not read the request', async (t) => {
    const reply: Reply = () => ({ id: null, error: { code: -32600, message: 'Invalid Request' } });
    const { url } = await serveRaw(t, answering(reply, 415));
    for (const call of [createClient({ url }).call('m'), createClient({ url }).notify('m')]) {
      await assert.rejects(call, (error) => hasCode(error, -32600) && error.method === 'm');
    }
  });

  it('null for a result', async (t) => {
    const { url } = await serveRaw(
      t,
      answering((id) => ({ id, result: null })),
    );
    assert.equal(await createClient({ url }).call('m'), null);
  });
});

describe('a URL for a server that speaks http', () => {
  const ways = { fetch: () => ({}), WebSocket: () => ({ transport: webSocket({ WebSocket }) }) };
  for (const [scheme, way] of [
    ['https', 'fetch'],
    ['ws', 'fetch'],
    ['wss', 'fetch'],
    ['https', 'WebSocket'],
    ['wss', 'WebSocket'],
  ] as const) {
    it(`begins with ${scheme}: the error of a call by ${way} says to begin it with http:`, async (t) => {
      const { url } = await startApp(t, { router: new Router() });
      const client = createClient({ url: url.replace('http', scheme), ...ways[way]() });
      await refused(client.call('m'), /: begin the URL with http:/);
    });
  }
});
