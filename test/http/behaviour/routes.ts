import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerName } from '../../servers.ts';
import { header, json, post, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

export function routes(start: Start, transport: ServerName): void {
  test('GET answers with the introspection document and its ETag', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    const reply = await one.ask(request('GET', '/rpc'));
    assert.equal(reply.status, 200);
    assert.equal(header(reply, 'content-type'), 'application/json');
    assert.equal(header(reply, 'etag'), '"one"');
    assert.equal(reply.body.toString(), service.document.bytes.toString());
    service.document = { bytes: Buffer.from('{}'), version: 'two' };
    assert.equal(header(await one.ask(request('GET', '/rpc')), 'etag'), '"two"');
  });

  for (const [value, status] of [
    ['"one"', 304],
    ['W/"one"', 304],
    ['"zero", "one"', 304],
    ['*', 304],
    ['"two"', 200],
    ['one', 200],
  ] as const) {
    test(`GET with if-none-match ${value} is ${status}`, async (t) => {
      const { client } = await start(t);
      const one = client();
      const reply = await one.ask(request('GET', '/rpc', [`if-none-match: ${value}`]));
      assert.equal(reply.status, status);
      assert.equal(header(reply, 'etag'), '"one"');
      assert.equal(header(reply, 'access-control-allow-origin'), '*');
      assert.equal((await one.ask(post(rpc('echo')))).status, 200);
    });
  }

  for (const path of ['/rpc', '/healthz', '/readyz', '/metrics', '/nowhere']) {
    test(`HEAD ${path} answers with the headers of GET alone`, async (t) => {
      const { client } = await start(t);
      const one = client();
      const got = await one.ask(request('GET', path));
      const head = await one.ask(request('HEAD', path), true);
      const comparable = (response: typeof got) =>
        response.headers
          .filter(([name]) => name !== 'date')
          .map(([name, value]) => `${name}: ${value}`)
          .sort();
      assert.equal(head.status, got.status);
      assert.deepEqual(comparable(head), comparable(got));
      assert.equal((await one.ask(post(rpc('echo')))).status, 200);
    });
  }

  test('OPTIONS says which methods there are', async (t) => {
    const { client } = await start(t);
    const allowAt = async (path: string) => {
      const reply = await client().ask(request('OPTIONS', path));
      assert.equal(header(reply, 'content-length'), undefined);
      return [reply.status, header(reply, 'allow')];
    };
    assert.deepEqual(await allowAt('/rpc'), [204, 'POST, GET, HEAD, OPTIONS']);
    // The parser of uWebSockets.js knows no target that is no path.
    if (transport === 'node')
      assert.deepEqual(await allowAt('*'), [204, 'GET, HEAD, POST, OPTIONS']);
  });

  test('GET /metrics shows the figures of the service, as they are then', async (t) => {
    const { client } = await start(t);
    const one = client();
    const reply = await one.ask(request('GET', '/metrics'));
    assert.equal(reply.status, 200);
    assert.equal(header(reply, 'content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    assert.equal(header(reply, 'cache-control'), 'no-store');
    assert.equal(reply.body.toString(), 'stub_calls_total 1\n');
    const posted = await one.ask(request('POST', '/metrics', ['content-length: 0']));
    assert.equal(posted.status, 405);
    assert.equal(header(posted, 'allow'), 'GET, HEAD');
  });

  test('a server for operators has no calls, and one for calls nothing for operators', async (t) => {
    const operators = (await start(t, { serves: 'operations' })).client();
    const callers = (await start(t, { serves: 'calls' })).client();
    const operations = ['/metrics', '/healthz', '/readyz'];
    for (const path of operations) {
      assert.equal((await operators.ask(request('GET', path))).status, 200, path);
      assert.equal((await callers.ask(request('GET', path))).status, 404, path);
    }
    for (const asked of [post(rpc('echo')), request('GET', '/rpc')]) {
      assert.equal((await operators.ask(asked)).status, 404);
      assert.equal((await callers.ask(asked)).status, 200);
    }
  });

  test('introspection turned off: GET and HEAD are 405', async (t) => {
    const { client } = await start(t, { introspection: false });
    const one = client();
    const reply = await one.ask(request('GET', '/rpc'));
    assert.equal(reply.status, 405);
    assert.equal(header(reply, 'allow'), 'POST, OPTIONS');
    assert.equal((await one.ask(request('HEAD', '/rpc'), true)).status, 405);
  });

  test('/healthz is 200 in every state, /readyz only when ready', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    for (const [state, status] of [
      ['starting', 503],
      ['ready', 200],
      ['draining', 503],
      ['closed', 503],
    ] as const) {
      service.state = state;
      assert.equal((await one.ask(request('GET', '/healthz'))).status, 200);
      const ready = await one.ask(request('GET', '/readyz'));
      assert.equal(ready.status, status);
      assert.deepEqual(json(ready), { status: state });
      assert.equal(header(ready, 'cache-control'), 'no-store');
    }
  });

  test('health routes take GET and HEAD only', async (t) => {
    const { client } = await start(t);
    const reply = await client().ask(post('', {}, '/readyz'));
    assert.equal(reply.status, 405);
    assert.equal(header(reply, 'allow'), 'GET, HEAD');
  });

  test('another path can be chosen', async (t) => {
    const { client } = await start(t, { path: '/' });
    const one = client();
    assert.equal((await one.ask(post(rpc('echo'), {}, '/'))).status, 200);
    assert.equal((await one.ask(post(rpc('echo')))).status, 404);
  });
}
