import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticator } from '../../../src/core/dispatch/authenticate.ts';
import type { AuthRequest } from '../../../src/index.ts';
import { post, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const caller = { 'x-forwarded-for': '198.51.100.1, 203.0.113.5' };

export function proxies(start: Start): void {
  test('behind a trusted proxy the caller is whom it names', async (t) => {
    const { client, service } = await start(t, { trustedProxies: ['127.0.0.0/8'] });
    const one = client();
    await one.ask(post(rpc('echo'), caller));
    await one.ask(post(rpc('echo'), { forwarded: 'for="[2001:db8::1]:80"' }));
    await one.ask(post(rpc('echo'), { 'x-forwarded-for': 'garbage' }));
    await one.ask(post(rpc('echo')));
    assert.deepEqual(
      service.facts.map(({ address }) => address),
      ['203.0.113.5', '2001:db8::1', '127.0.0.1', '127.0.0.1'],
    );
  });

  test('headers that came in several lines are one list', async (t) => {
    const { client, service } = await start(t, { trustedProxies: ['127.0.0.1'] });
    const body = rpc('echo');
    const lines = ['X-Forwarded-For: 198.51.100.1', 'X-Forwarded-For: 203.0.113.5, 127.0.0.1'];
    const head = `POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${lines.join('\r\n')}`;
    await client().ask(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.equal(service.facts[0]?.address, '203.0.113.5');
  });

  test('nobody else is believed', async (t) => {
    for (const trustedProxies of [[], ['203.0.113.0/24', '::1']]) {
      const { client, service } = await start(t, { trustedProxies });
      await client().ask(post(rpc('echo'), { ...caller, forwarded: 'for=203.0.113.5' }));
      assert.equal(service.facts[0]?.address, '127.0.0.1');
    }
  });

  test('authenticate is told of the caller that a trusted proxy names, for calls and documents', async (t) => {
    const seen: (string | undefined)[] = [];
    const authenticate = createAuthenticator(
      'authenticate',
      ({ remoteAddress }: AuthRequest) => void seen.push(remoteAddress),
      () => assert.fail(),
    );
    const { client } = await start(t, { trustedProxies: ['127.0.0.1'], authenticate });
    await client().ask(post(rpc('echo'), caller));
    await client().ask(request('GET', '/rpc', ['x-forwarded-for: 203.0.113.5']));
    assert.deepEqual(seen, ['203.0.113.5', '203.0.113.5']);
  });
}
