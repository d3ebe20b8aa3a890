import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serialize } from 'node:v8';
import { parseFromServer, parseToServer } from '../../../src/server/supervisor/messages.ts';
import { randomFrom } from '../../faults/random.ts';
import { CompiledCli, logged, logOf, service } from './cli.ts';
import { call, where } from './load.ts';

const cli = await CompiledCli.suite();

/** As Node frames a message of child_process with the serialization `advanced`: its length, then its bytes. */
function framed(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const snapshot = {
  process: '1',
  calls: [
    {
      procedure: 'one',
      place: 'inline',
      codes: { 0: 1 },
      busy: 1,
      wait: { buckets: [1], sum: 0 },
      duration: { buckets: [1], sum: 0 },
    },
  ],
  counters: { shed: 1 },
  blocked: [],
  gauges: { queued: 0 },
  places: [{ procedure: 'one', place: 'inline', cause: 'declared' }],
  groups: [],
  workers: [],
  events: [],
  callers: [],
  members: [],
};

const fromServer = [
  { type: 'ready', report: { banner: 'hello', facts: {}, sharesPort: true } },
  { type: 'failed', failure: { message: 'no', stack: undefined } },
  { type: 'figures', figures: { zombies: 0, rssBytes: 1 } },
  { type: 'drained', snapshot },
  { type: 'reply', id: 1, value: snapshot },
  { type: 'collect-all', id: 1 },
];

const strange: readonly unknown[] = [
  undefined,
  null,
  'ready',
  1,
  Number.NaN,
  [],
  {},
  { type: 'ready' },
  { type: 'start' },
  { type: 'constructor' },
  new Map([['type', 'ready']]),
  { cmd: 'something' },
];

describe('the channel between a supervisor and its processes', () => {
  test('takes its own messages and nothing else', () => {
    for (const message of fromServer) {
      assert.deepEqual(parseFromServer({ key: 'k', ...message }, 'k'), message);
      assert.equal(parseFromServer(message, 'k'), undefined, 'without the key');
      assert.equal(parseFromServer({ key: 'x', ...message }, 'k'), undefined);
      assert.equal(parseToServer({ key: 'k', ...message }), undefined);
    }
    for (const message of strange) {
      assert.equal(parseFromServer(message, 'k'), undefined);
      assert.equal(parseToServer(message), undefined);
    }
  });

  test('takes no message with a part that is another kind of value', () => {
    const random = randomFrom(19);
    const wrong = [null, 'x', -1, Number.NaN, true, [], {}, 1n, new Date(0)];
    for (let i = 0; i < 5000; i++) {
      const message = structuredClone(fromServer[i % fromServer.length]) as object;
      // Down to a random member, which becomes something else.
      let at = message as Record<string, unknown>;
      for (;;) {
        const names = Object.keys(at);
        const name = names[Math.floor(random() * names.length)];
        if (name === undefined) break;
        const next = at[name];
        if (typeof next === 'object' && next !== null && random() < 0.8) {
          at = next as Record<string, unknown>;
          continue;
        }
        at[name] = wrong[Math.floor(random() * wrong.length)];
        break;
      }
      const parsed = parseFromServer({ key: 'k', ...message }, 'k');
      if (parsed?.type === 'figures') assert.ok(parsed.figures.rssBytes >= 0);
      if (parsed?.type === 'ready') assert.equal(typeof parsed.report.banner, 'string');
      if (parsed?.type !== 'drained' || parsed.snapshot === undefined) continue;
      for (const { codes, wait } of parsed.snapshot.calls) {
        for (const count of [...Object.values(codes), ...wait.buckets]) assert.ok(count >= 0);
      }
      for (const count of Object.values(parsed.snapshot.counters)) assert.ok(count >= 0);
    }
  });

  test('is not there for procedures, and what reaches it costs one line of the log', async (t) => {
    // The largest message comes as the params of an inline call.
    const { server, url } = await cli.serveFor(t, [service, '--max-inline-params', '10mb']);
    const first = await where(url);
    assert.equal(await call(url, 'channel.own'), 'undefined');
    const huge = { type: 'figures', figures: 'x'.repeat(3_000_000) };
    const spoofed = fromServer.map((message) => ({ key: 'guessed', ...message }));
    for (const message of [...strange, ...spoofed, huge]) {
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
