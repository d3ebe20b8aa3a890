import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, json, post, type RawClient, request, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const call = rpc('echo', 'x');
/** Served only by a server that lost its place: it stands where the refused request's body is. */
const smuggled = post(rpc('echo', 'smuggled', 'smuggled'));

async function closesAfter(one: RawClient, bytes: string | Uint8Array, status: number) {
  await one.write(bytes);
  await one.untilClosed();
  const reply = await one.response();
  assert.equal(reply.status, status);
  assert.equal(one.received.toString(), '', 'one reply and no other');
  return reply;
}

export function framing(start: Start, transport: 'uws' | 'node'): void {
  for (const value of ['xchunked', 'gzip, chunked', 'identity', '', 'chunked, chunked']) {
    for (const [name, body] of [
      ['nothing', ''],
      ['a chunked body', '2\r\n{}\r\n0\r\n\r\n'],
      ['a body that is not chunked', call],
      ['a request after the last chunk', Buffer.concat([Buffer.from('0\r\n\r\n'), smuggled])],
      ['a request at once', smuggled],
    ] as const) {
      test(`transfer-encoding "${value}" with ${name}: refused and closed`, async (t) => {
        const { client, service } = await start(t);
        const one = client();
        const bytes = post('', { 'content-length': undefined, 'transfer-encoding': value });
        await one.write(Buffer.concat([bytes, Buffer.from(body as Uint8Array)]));
        await one.untilClosed();
        const reply = await one.response();
        // llhttp refuses what it can't decode before any handler; uWebSockets.js takes any value.
        if (transport === 'uws') assert.equal(reply.status, 411);
        else assert.ok(reply.status === 411 || reply.status === 400);
        if (reply.status === 411) {
          assert.equal(json(reply).error.code, -32600);
          assert.equal(header(reply, 'connection')?.toLowerCase(), 'close');
          assert.equal(header(reply, 'access-control-allow-origin'), '*');
        }
        assert.equal(service.bodies.length, 0);
        // The parser's own complaint may stand behind the reply; a second reply to a call may not.
        assert.ok(!one.received.includes('smuggled'));
      });
    }
  }

  test('transfer-encoding is refused on every route', async (t) => {
    const { client } = await start(t);
    for (const path of ['/rpc', '/healthz', '/nowhere']) {
      const bytes = request('GET', path, ['transfer-encoding: chunked']);
      const one = client();
      await one.write(bytes);
      await one.untilClosed();
      assert.equal((await one.response()).status, 411);
    }
  });

  for (const [name, value] of [
    ['two that are the same', `${call.length}\r\nContent-Length: ${call.length}`],
    ['two that differ', `2\r\nContent-Length: ${call.length}`],
    ['two in one', `${call.length}, ${call.length}`],
    ['a sign', `+${call.length}`],
    ['a negative one', '-1'],
    ['hexadecimal', '0x10'],
    ['an exponent', '1e1'],
    ['a fraction', '10.0'],
    ['no digit', 'ten'],
    ['an empty one', ''],
    ['a digit that is not ASCII', '１'],
  ] as const) {
    test(`content-length, ${name}: 400 and closed, nothing behind it runs`, async (t) => {
      const { client, service } = await start(t);
      const bytes = Buffer.concat([post(call, { 'content-length': value }), smuggled]);
      const reply = await closesAfter(client(), bytes, 400);
      // node:http refuses these itself, in its own words.
      if (transport === 'uws') assert.equal(json(reply).error.code, -32600);
      assert.equal(service.bodies.length, 0);
    });
  }

  test('a HEAD whose length is in doubt closes too', async (t) => {
    const { client, service } = await start(t);
    const head = request('HEAD', '/rpc', ['content-length: 2', 'content-length: 5']);
    await closesAfter(client(), Buffer.concat([Buffer.from(`${head}{}`), smuggled]), 400);
    assert.equal(service.bodies.length, 0);
  });

  for (const order of ['before', 'behind']) {
    test(`content-length ${order} transfer-encoding: refused by the parser, closed`, async (t) => {
      const { client, service } = await start(t);
      const both = ['content-length: 5', 'transfer-encoding: chunked'];
      const lines = [
        'content-type: application/json',
        ...(order === 'before' ? both : both.reverse()),
      ];
      const bytes = Buffer.concat([
        Buffer.from(`${request('POST', '/rpc', lines)}0\r\n\r\n`),
        smuggled,
      ]);
      await closesAfter(client(), bytes, 400);
      assert.equal(service.bodies.length, 0);
    });
  }

  for (const [name, bytes, statuses] of [
    ['no host', 'GET /rpc HTTP/1.1\r\naccept: */*\r\n\r\n', { uws: 400, node: 400 }],
    [
      'a TLS hello',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      { uws: 505, node: 400 },
    ],
    ['bare line feeds', 'GET /rpc HTTP/1.1\nhost: test\n\n', { uws: 505, node: 400 }],
    ['HTTP/3.0', 'GET /rpc HTTP/3.0\r\nhost: test\r\n\r\n', { uws: 505, node: 400 }],
  ] as const) {
    test(`${name}: refused by the parser with its own status, closed`, async (t) => {
      const { client, service } = await start(t);
      await closesAfter(client(), bytes, statuses[transport]);
      assert.equal(service.bodies.length, 0);
    });
  }

  test('an Expect that nobody knows is passed over', async (t) => {
    const { client } = await start(t);
    for (const expect of ['200-ok', '', 'x, y']) {
      assert.equal((await client().ask(post(call, { expect }))).status, 200, expect);
    }
  });

  test('HTTP/1.0: 505 by uWebSockets.js; node:http answers and closes', async (t) => {
    const { client } = await start(t);
    const bytes = post(call).toString().replace('HTTP/1.1', 'HTTP/1.0');
    await closesAfter(client(), bytes, transport === 'uws' ? 505 : 200);
  });

  test('more headers than uWebSockets.js holds: never entered, 4xx or silence; node:http answers 431', async (t) => {
    const { client, service } = await start(t);
    const one = client();
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`x-${i}`, 'a']));
    await one.write(post(call, many));
    if (transport === 'node') {
      assert.equal((await one.response()).status, 431);
    } else {
      // Its binary for Node 20 is silent until its idle timeout, or until the client gives up; newer ones answer.
      one.socket.end();
      await one.untilClosed();
      assert.match(one.received.toString(), /^(HTTP\/1\.1 4|$)/);
    }
    assert.equal(service.bodies.length, 0);
  });

  for (const [name, line] of [
    ['a bare CR in a header', 'origin: https://a.example\rx-evil: 1'],
    ['a bare LF in a header', 'origin: https://a.example\nx-evil: 1'],
    ['a NUL in a header', 'origin: https://a.example\0x-evil: 1'],
    ['a folded header', 'origin: https://a.example\r\n x-evil: 1'],
    ['a space before the colon', 'content-length : 5'],
  ] as const) {
    test(`${name} never reaches a reply`, async (t) => {
      const { client } = await start(t, { corsOrigin: ['https://a.example'] });
      const one = client();
      await one.write(request('GET', '/rpc', [line]));
      // One parser refuses, another waits for more, which a client that ends its side settles.
      one.socket.end();
      await one.untilClosed();
      assert.doesNotMatch(one.received.toString(), /x-evil/);
    });
  }
}
