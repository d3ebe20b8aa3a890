import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, json, post, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

export function calls(start: Start): void {
  test('nothing to answer is a 204 without body or length', async (t) => {
    const { client } = await start(t);
    const one = client();
    const reply = await one.ask(post('{"method":"echo"}'));
    assert.equal(reply.status, 204);
    assert.equal(header(reply, 'content-length'), undefined);
    assert.equal(header(reply, 'access-control-allow-origin'), '*');
    // Nothing of it is left over: the next reply begins where this one ended.
    assert.equal((await one.ask(post(rpc('echo')))).status, 200);
  });

  test('the scope carries the address, the forwarded headers and the time limit', async (t) => {
    const { client, service } = await start(t, { forwardHeaders: ['X-Tenant', 'traceparent'] });
    const one = client();
    await one.ask(
      post(rpc('echo'), { 'X-TENANT': 'a', 'x-other': 'b', 'rpc-timeout-ms': '250', cookie: 'c' }),
    );
    await one.ask(post(rpc('echo')));
    assert.deepEqual(service.facts, [
      { headers: { 'x-tenant': 'a' }, address: '127.0.0.1', ms: 250 },
      // Of the request before it on the connection, nothing is left.
      { headers: {}, address: '127.0.0.1', ms: undefined },
    ]);
  });

  test('an address that is asked for late is known if it was asked for before', async (t) => {
    const { client, service } = await start(t);
    await client().ask(post(rpc('echo')));
    assert.equal(service.scopes[0]?.remoteAddress, '127.0.0.1');
  });

  test('a forwarded header that is repeated is joined', async (t) => {
    const { client, service } = await start(t, { forwardHeaders: ['x-a'] });
    await client().ask(post(rpc('echo'), { 'x-a': '1\r\nX-A: 2' }));
    assert.deepEqual(service.scopes[0]?.headers, { 'x-a': '1, 2' });
  });

  test('a service that throws is answered with 500 and one warning', async (t) => {
    const warnings: string[] = [];
    const { client } = await start(t, { warn: (message) => warnings.push(message) });
    const one = client();
    const reply = await one.ask(post(rpc('throws')));
    assert.equal(reply.status, 500);
    assert.equal(json(reply).error.code, -32603);
    assert.equal(warnings.length, 1);
    assert.equal((await one.ask(post(rpc('echo')))).status, 200);
  });

  test('a client that asks for 100-continue gets it, then its reply', async (t) => {
    const { client } = await start(t);
    const one = client();
    const body = rpc('echo', 'x');
    const bytes = post(body, { expect: '100-continue' });
    await one.write(bytes.subarray(0, bytes.length - body.length));
    assert.equal((await one.response()).status, 100);
    assert.equal((await one.ask(body)).status, 200);
  });
}
