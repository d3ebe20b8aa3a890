import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, describe, it, type TestContext } from 'node:test';

import { Router, RpcApp, RpcError, Type } from '../../src/index.ts';
import { listenTo } from '../harness.ts';
import { CommandLine } from './command-line.ts';
import { startCli } from './process.ts';

const router = new Router();
router.rpc(
  { name: 'count', params: Type.Object({ to: Type.Integer() }) },
  async function* ({ to }) {
    for (let i = 0; i < to; i++) yield { i, big: 1e21, text: '\u001b[2J' };
    return to === 0 ? undefined : 'all';
  },
);
router.rpc({ name: 'fails' }, async function* fails() {
  yield 1;
  throw new RpcError(17, 'Sold out', { left: 0 });
});
let ended: () => void = () => {};
router.rpc({ name: 'waits' }, async function* waits(_params, { signal }) {
  yield 1;
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  ended();
});
router.rpc({ name: 'plain' }, async () => 7);

const app = new RpcApp({ router, port: 0, logLevel: 'silent' });
const { url } = await app.listen();
after(() => app.close());

const commands = CommandLine.suite();
const call = (...args: string[]) => commands.run(['call', url, ...args, '--sse']);

/** A server that answers everything with these pieces of a body, one after the other, and then ends or breaks off. */
async function answering(t: TestContext, pieces: readonly string[], type = 'text/event-stream') {
  const answer = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': type });
    for (const piece of pieces)
      await new Promise<void>((done) => response.write(piece, () => done()));
    response.end();
  };
  return `http://127.0.0.1:${await listenTo(t, (_request, response) => void answer(response))}/`;
}

describe('tandem call --sse', () => {
  it('prints each value on a line, then the result where there is one', async () => {
    const value = (i: number) => `{"i":${i},"big":1e+21,"text":"\\u001b[2J"}\n`;
    const { code, stdout, stderr } = await call('count', '2');
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout, `${value(0)}${value(1)}"all"\n`);
    assert.equal((await call('count', '0')).stdout, '');
    assert.equal((await call('plain')).stdout, '7\n');
  });

  it('an error that ends a stream is printed as that of a call', async () => {
    const { code, stdout, stderr } = await call('fails');
    assert.deepEqual([code, stdout], [1, '1\n']);
    assert.equal(stderr, 'tandem: fails: Sold out (17)\n  {\n    "left": 0\n  }\n');
    const refused = await call('coun', '2');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /did you mean count\?/);
    const late = await call('waits', '--timeout', '100ms');
    assert.match(late.stderr, /^tandem: waits: Deadline exceeded \(-32001\)\n/);
  });

  it('a call without the flag says which flag', async () => {
    const { code, stdout, stderr } = await commands.run(['call', url, 'count', '2']);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, 'tandem: count: Method not found (-32601); it is a stream: add --sse\n');
  });

  it('Ctrl+C ends the stream on the server, too', async () => {
    const done = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const running = startCli(['call', url, 'waits', '--sse']);
    await running.seen('stdout', /^1\n/);
    running.child.kill('SIGINT');
    await done;
    assert.equal((await running.exit).stdout, '1\n');
  });

  it('of a stream that breaks off, and of what is no stream, it says so', async (t) => {
    const run = (target: string) => commands.run(['call', target, 'count', '--sse']);
    const value =
      'data: {"jsonrpc":"2.0","method":"count","params":{"subscription":1,"result":5}}\n\n';
    const cut = await run(await answering(t, [value]));
    assert.deepEqual([cut.code, cut.stdout], [1, '5\n']);
    assert.match(
      cut.stderr,
      /^tandem: http:\S+ \(200 text\/event-stream\): the connection ended without the last event\n$/,
    );
    const page = await run(await answering(t, ['<h1>no\u001b[2J</h1>'], 'text/html'));
    assert.equal(page.code, 1);
    assert.match(
      page.stderr,
      /^tandem: http:\S+ \(200 text\/html\): the response is not JSON: "<h1>no[^\n]*\n$/,
    );
    const odd = await run(await answering(t, ['data: {"id":0}\n\n']));
    assert.match(odd.stderr, /a reply has an unknown id: 0/);
    const silent = await commands.run(['call', url, 'count', '--sse', '--notify']);
    assert.match(silent.stderr, /leave out --notify/);
  });
});
