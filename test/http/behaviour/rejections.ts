import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, post, rpc } from '../raw-client.ts';
import type { Start } from '../stub-server.ts';

const call = rpc('echo', 'x');

const accepted: readonly (readonly [string, Record<string, string>])[] = [
  ['application/json', { 'content-type': 'application/json' }],
  ['application/json-rpc', { 'content-type': 'application/json-rpc' }],
  ['application/jsonrequest', { 'content-type': 'application/jsonrequest' }],
  ['capitals', { 'content-type': 'Application/JSON' }],
  ['charset utf-8', { 'content-type': 'application/json; charset=utf-8' }],
  ['charset UTF-8, quoted', { 'content-type': 'application/json;Charset="UTF-8"' }],
  ['another parameter', { 'content-type': 'application/json; profile=x ; charset=utf-8' }],
  ['content-encoding identity', { 'content-encoding': 'identity' }],
  ['content-encoding Identity', { 'content-encoding': 'Identity' }],
  ['a range, which a POST ignores', { range: 'bytes=0-10' }],
  ['rpc-timeout-ms 1', { 'rpc-timeout-ms': '1' }],
  ['rpc-timeout-ms beyond every integer', { 'rpc-timeout-ms': '9'.repeat(400) }],
  ['a content-length with leading zeros', { 'content-length': `000${call.length}` }],
];

export function rejections(start: Start): void {
  for (const [name, headers] of accepted) {
    test(`accepted: ${name}`, async (t) => {
      const { client } = await start(t);
      const reply = await client().ask(post(call, headers));
      assert.equal(reply.status, 200);
      assert.equal(json(reply).result, 'x');
    });
  }

  test('no content-length is 411 and closes, so that no body is read as the next request', async (t) => {
    const { client } = await start(t);
    const one = client();
    const reply = await one.ask(post('', { 'content-length': undefined }));
    assert.equal(reply.status, 411);
    assert.equal(json(reply).error.code, -32600);
    await one.untilClosed();
    // uWebSockets.js ends the headers at a line without a name, node:http refuses them.
    const hidden = post(rpc('echo', 'smuggled'));
    const other = client();
    await other.write(post(hidden).toString().replace('content-length:', ': 1\r\ncontent-length:'));
    await other.untilClosed();
    assert.doesNotMatch(other.received.toString('latin1'), /smuggled/);
  });

  test('the status of a rejection does not depend on its origin: the type is looked at first', async (t) => {
    const { client, service } = await start(t, { corsOrigin: ['https://a.example'] });
    const reply = await client().ask(
      post(call, { 'content-type': 'text/plain', origin: 'https://b.example' }),
    );
    assert.equal(reply.status, 415);
    assert.equal(service.bodies.length, 0);
  });
}
