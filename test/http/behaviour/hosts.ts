import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, json, post, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const allowedHosts = ['example.com', 'api.example.com:8443', '127.0.0.1', '[::1]', '[fe80::2]:80'];

const served = [
  'example.com',
  'example.com:1',
  'example.com:65535',
  'EXAMPLE.com:80',
  'api.example.com:8443',
  'API.Example.COM:8443',
  '127.0.0.1',
  '127.0.0.1:8000',
  '[::1]',
  '[::1]:8000',
  '[FE80::2]:80',
];

const foreign = [
  'evil.example',
  'example.com.evil.example',
  'evil-example.com',
  'www.example.com',
  'example.com.',
  'api.example.com',
  'api.example.com:8444',
  'api.example.com:8443:8443',
  'example.com:',
  'example.com:80:80',
  'example.com:x',
  'example.com:123456',
  'example.com@evil.example',
  'evil.example@example.com',
  'example.com, evil.example',
  'http://example.com',
  '127.0.0.2',
  '2130706433',
  '::1',
  '[::1',
  '[0:0:0:0:0:0:0:1]',
  '[fe80::2]',
  'localhost',
];

export function hosts(start: Start): void {
  test('with allowedHosts, a listed host is served, on its port or on any', async (t) => {
    const { client } = await start(t, { allowedHosts });
    const one = client();
    for (const host of served)
      assert.equal((await one.ask(post(rpc('echo'), { host }))).status, 200, host);
  });

  test('with allowedHosts, any other host is 403, and its body is passed over', async (t) => {
    const { client, service } = await start(t, { allowedHosts });
    for (const host of foreign) {
      const one = client();
      const reply = await one.ask(post(rpc('echo'), { host }));
      assert.equal(reply.status, 403, host);
      assert.equal(header(reply, 'content-type'), 'application/json');
      assert.deepEqual(json(reply), {
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32600,
          message: 'Invalid Request',
          data: { reason: 'the Host header names a host that is not served here' },
        },
      });
      assert.equal(service.bodies.length, 0, host);
      assert.equal((await one.ask(post(rpc('echo'), { host: 'example.com' }))).status, 200, host);
      service.bodies.length = 0;
    }
  });

  for (const given of [[], allowedHosts]) {
    test(`a second Host is 400 on every route, ${given.length > 0 ? 'with' : 'without'} allowedHosts`, async (t) => {
      const { client, service } = await start(t, { allowedHosts: given });
      let served = 0;
      // Newer binaries of uWebSockets.js refuse it themselves, and close.
      const assertRefused = async (bytes: string | Uint8Array) => {
        const one = client();
        const reply = await one.ask(bytes);
        assert.equal(reply.status, 400);
        if (header(reply, 'content-type') === undefined) {
          await one.untilClosed();
          return;
        }
        assert.deepEqual(json(reply).error.data, { reason: 'host must be sent once' });
        assert.equal((await one.ask(post(rpc('echo'), { host: 'example.com' }))).status, 200);
        served++;
      };
      for (const host of [
        'example.com\r\nHost: evil.example',
        'evil.example\r\nHost: example.com',
        'example.com\r\nHost: example.com',
        'example.com\r\nHOST:',
      ]) {
        await assertRefused(post(rpc('echo'), { host }));
      }
      for (const path of ['/rpc', '/healthz', '/metrics', '/nowhere']) {
        await assertRefused(request('GET', path, ['Host: example.com']));
      }
      assert.equal(service.bodies.length, served);
      assert.equal((await client().ask(post(rpc('echo'), { host: 'example.com' }))).status, 200);
    });
  }

  test('with allowedHosts, every route but the health ones asks for the host', async (t) => {
    const { client } = await start(t, { allowedHosts });
    const ask = async (method: string, path: string, host: string) => {
      const text = request(method, path, ['content-length: 0']).replace(
        'host: test',
        `host: ${host}`,
      );
      return (await client().ask(text, method === 'HEAD')).status;
    };
    for (const [method, path, status] of [
      ['GET', '/rpc', 200],
      ['HEAD', '/rpc', 200],
      ['OPTIONS', '/rpc', 204],
      ['PUT', '/rpc', 405],
      ['GET', '/nowhere', 404],
    ] as const) {
      assert.equal(await ask(method, path, 'example.com'), status, `${method} ${path}`);
      assert.equal(await ask(method, path, 'evil.example'), 403, `${method} ${path}`);
    }
    for (const path of ['/healthz', '/readyz']) {
      assert.equal(await ask('GET', path, '10.0.0.7:8000'), 200);
      assert.equal(await ask('HEAD', path, '10.0.0.7:8000'), 200);
    }
  });

  test('with allowedHosts, the host is looked at behind the framing and before the rest', async (t) => {
    const { client } = await start(t, { allowedHosts });
    const foreignHost = { host: 'evil.example' };
    const chunked = {
      ...foreignHost,
      'content-length': undefined,
      'transfer-encoding': 'xchunked',
    };
    const one = client();
    const unframed = await one.ask(post('', chunked));
    assert.ok(unframed.status === 501 || unframed.status === 400);
    await one.untilClosed();
    const typed = { ...foreignHost, 'content-type': 'text/plain' };
    assert.equal((await client().ask(post(rpc('echo'), typed))).status, 403);
    const noLength = { ...foreignHost, 'content-length': undefined };
    assert.equal((await client().ask(post('', noLength))).status, 403);
  });

  test('without allowedHosts any host is served, and what is none is 400', async (t) => {
    const { client } = await start(t);
    const one = client();
    const right = ['evil.example', 'evil.example:1', '127.0.0.1:', '[::1]:80', 'a_b', '%41'];
    right.push('api.example.com:8443', '[fe80::2%25eth0]', 'xn--bcher-kva.example');
    for (const host of right) {
      assert.equal((await one.ask(post(rpc('echo'), { host }))).status, 200, host);
    }
    for (const host of [
      '',
      ':80',
      'a,b',
      'a, b',
      'a b',
      'a/b',
      'a@b',
      'a?b',
      '::1',
      '[::1',
      'a:b',
      'a:1:1',
      'a:http',
      'http://a',
      '[a]b',
      'aéb',
    ]) {
      assert.equal((await one.ask(post(rpc('echo'), { host }))).status, 400, host);
      assert.equal((await one.ask(`GET /rpc HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).status, 400, host);
    }
  });
}
