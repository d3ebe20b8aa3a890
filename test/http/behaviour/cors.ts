import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, post, type RawResponse, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const origins = ['https://a.example', 'http://localhost:3000'];

function allowed(reply: RawResponse) {
  return {
    origin: header(reply, 'access-control-allow-origin'),
    vary: header(reply, 'vary'),
  };
}

export function cors(start: Start): void {
  test('a preflight is a 204 that names methods, headers and its age', async (t) => {
    const { client } = await start(t);
    const one = client();
    const reply = await one.ask(
      request('OPTIONS', '/rpc', [
        'origin: https://a.example',
        'access-control-request-method: POST',
      ]),
    );
    assert.equal(reply.status, 204);
    assert.equal(header(reply, 'allow'), 'POST, GET, HEAD, OPTIONS');
    assert.equal(header(reply, 'access-control-allow-methods'), 'POST, GET, OPTIONS');
    assert.equal(
      header(reply, 'access-control-allow-headers'),
      'content-type, authorization, traceparent, rpc-timeout-ms',
    );
    assert.equal(header(reply, 'access-control-max-age'), '86400');
    assert.deepEqual(allowed(reply), { origin: '*', vary: undefined });
    assert.equal((await one.ask(post(rpc('echo')))).status, 200);
  });

  test('by default every reply may be read by every origin', async (t) => {
    const { client } = await start(t);
    const one = client();
    for (const bytes of [
      post(rpc('echo')),
      post('{"method":"echo"}'),
      post(rpc('large', 100_000)),
      post('{}', { 'content-type': 'text/plain' }),
      request('GET', '/rpc'),
      request('GET', '/healthz'),
      request('GET', '/nowhere'),
      request('PUT', '/rpc', ['content-length: 0']),
    ]) {
      assert.deepEqual(allowed(await one.ask(bytes)), { origin: '*', vary: undefined });
    }
  });

  for (const [sent, answered] of [
    ['https://a.example', 'https://a.example'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://b.example', undefined],
    ['https://a.example.evil', undefined],
    ['HTTPS://A.EXAMPLE', undefined],
    ['null', undefined],
    ['*', undefined],
    ['', undefined],
    ['https://a.example\r\nOrigin: https://a.example', undefined],
  ] as const) {
    test(`with a list, origin ${JSON.stringify(sent)} gets ${answered ?? 'nothing'}`, async (t) => {
      const { client } = await start(t, { corsOrigin: origins });
      const one = client();
      const line = `origin: ${sent}`;
      for (const bytes of [
        post(rpc('echo'), { origin: sent }),
        post('{"method":"echo"}', { origin: sent }),
        post('{}', { origin: sent, 'content-type': 'text/plain' }),
        request('OPTIONS', '/rpc', [line]),
        request('GET', '/rpc', [line]),
        request('GET', '/nowhere', [line]),
      ]) {
        const reply = await one.ask(bytes);
        assert.deepEqual(allowed(reply), { origin: answered, vary: 'origin' });
        const lines = reply.headers.filter(([name]) =>
          name.startsWith('access-control-allow-origin'),
        );
        assert.equal(lines.length, answered === undefined ? 0 : 1);
      }
    });
  }

  test('with a list, a request without an origin gets none, and varies', async (t) => {
    const { client } = await start(t, { corsOrigin: origins });
    const reply = await client().ask(post(rpc('echo')));
    assert.equal(reply.status, 200);
    assert.deepEqual(allowed(reply), { origin: undefined, vary: 'origin' });
  });

  test('a preflight names the headers of corsHeaders behind those of the service, each once', async (t) => {
    const { client } = await start(t, { corsHeaders: ['x-tenant', 'authorization', 'x-csrf'] });
    const reply = await client().ask(
      request('OPTIONS', '/rpc', [
        'origin: https://a.example',
        'access-control-request-method: POST',
        'access-control-request-headers: x-tenant, x-other',
      ]),
    );
    assert.equal(
      header(reply, 'access-control-allow-headers'),
      'content-type, authorization, traceparent, rpc-timeout-ms, x-tenant, x-csrf',
    );
  });

  for (const [corsCredentials, origin, credentials] of [
    [true, 'https://a.example', 'true'],
    [true, 'https://b.example', undefined],
    [true, 'null', undefined],
    [false, 'https://a.example', undefined],
  ] as const) {
    test(`listed origins alone may send cookies: corsCredentials ${corsCredentials}, origin ${origin}`, async (t) => {
      const { client } = await start(t, { corsOrigin: origins, corsCredentials });
      const one = client();
      const line = `origin: ${origin}`;
      for (const bytes of [
        post(rpc('echo'), { origin }),
        post(rpc('large', 100_000), { origin }),
        post('{}', { origin, 'content-type': 'text/plain' }),
        request('OPTIONS', '/rpc', [line]),
        request('GET', '/rpc', [line]),
      ]) {
        const reply = await one.ask(bytes);
        assert.equal(header(reply, 'access-control-allow-credentials'), credentials);
        assert.equal(header(reply, 'vary'), 'origin');
      }
    });
  }
}
