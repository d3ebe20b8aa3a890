import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serialize } from 'node:v8';
import { CompiledCli, logged, logOf, service } from './cli.ts';
import { call, where } from './load.ts';

const cli = await CompiledCli.suite();

/** As Node frames a message of child_process with the serialization `advanced`: its length, then its bytes. */
function framed(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** What the supervisor would act on if it came with the key. */
const messages = [
  { type: 'ready', report: { banner: 'hello', facts: {}, sharesPort: true } },
  { type: 'failed', failure: { message: 'no', stack: undefined } },
  { type: 'drained', snapshot: undefined },
  { type: 'collect' },
];

const strange: readonly unknown[] = [
  undefined,
  null,
  'ready',
  1,
  [],
  {},
  new Map([['key', 'guessed']]),
  { cmd: 'something' },
  { message: messages[0] },
  ...messages.map((message) => ({ key: 'guessed', id: 1, message })),
  { key: 'guessed', id: 1, answer: { changed: true } },
];

describe('the channel between a supervisor and its processes', () => {
  test('is not there for procedures, and what reaches it costs one line of the log', async (t) => {
    // The largest message comes as the params of an inline call.
    const { server, url } = await cli.serveFor(t, [service, '--max-inline-params', '10mb']);
    const first = await where(url);
    assert.equal(await call(url, 'channel.own'), 'undefined');
    const huge = { key: 'guessed', message: 'x'.repeat(3_000_000) };
    for (const message of [...strange, huge]) {
      const hex = framed(serialize(message)).toString('hex');
      assert.equal(await call(url, 'channel.write', { hex }), first);
    }
    await logged(server, /no message to its supervisor/);
    // Bytes that are no value, of which Node makes an exception in the supervisor.
    for (let i = 0; i < 5; i++) {
      const hex = framed(Buffer.from('not serialized')).toString('hex');
      assert.equal(await call(url, 'channel.write', { hex }), first);
    }
    await logged(server, /an unexpected error in the supervisor/);
    // Both still hear of each other: a reload is asked for, and answered.
    server.child.kill('SIGHUP');
    await logged(server, /not reloaded: nothing has changed/);
    assert.equal(await where(url), first);
    const told = logOf(server).filter(({ event }) => event === 'process-message-ignored');
    assert.equal(told.length, 1);
    assert.equal(told[0]?.serverPid, first);
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });
});
