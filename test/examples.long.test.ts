import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Exit, type Running, startModule, startNode } from './cli/process.ts';
import { root } from './files.ts';
import { callAt } from './post-json.ts';

function startExample(name: string, ...args: string[]): Running {
  return startModule(`examples/${name}`, args);
}

type Reply = Record<string, unknown>;

function parseLines(text: string): Reply[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Reply);
}

function byId(replies: Reply[]): Map<unknown, Reply> {
  return new Map(replies.map((reply) => [reply.id, reply]));
}

/** Longer than what any other call of a test takes, on a busy machine too, and shorter than the grace time of a close. */
const longMs = 5000;
/** Nothing waits for its end unless it is asked to. */
const long = { method: 'time.sleep', params: { ms: longMs } };
const line = (value: unknown) => `${JSON.stringify(value)}\n`;

/** Every kind of line in one go; its replies are the same on every transport. */
const mixed = [
  line({ jsonrpc: '2.0', id: 'slow', ...long }),
  line({ jsonrpc: '2.0', id: 'sum', method: 'math.add', params: [1, 2] }),
  '{"jsonrpc":"2.0","id":1,"meth\n',
  '\n',
  ' \r\n',
  line([
    { jsonrpc: '2.0', id: 'b1', method: 'math.divide', params: { a: 6, b: 3 } },
    { jsonrpc: '2.0', method: 'math.add', params: [1, 1] },
    1,
    { jsonrpc: '2.0', id: 'b2', method: 'math.divide', params: { a: 1, b: 0 } },
  ]),
  line({ jsonrpc: '2.0', method: 'math.add', params: [1, 1] }),
  line([{ jsonrpc: '2.0', method: 'math.add', params: [1, 1] }]),
  // No newline behind the last line.
  '{"jsonrpc":"2.0","id":9007199254740993,"method":"math.add","params":{"a":1,"b":"x"}}',
].join('');

function assertMixedReplies(text: string): void {
  const lines = text.split('\n');
  assert.equal(lines.pop(), '', 'every reply ends with a newline');
  const batch = lines.filter((reply) => reply.startsWith('['));
  const single = lines.filter((reply) => !reply.startsWith('['));
  assert.equal(batch.length, 1, text);
  assert.equal(single.length, 4, text);
  assert.deepEqual(JSON.parse(batch[0] ?? ''), [
    { jsonrpc: '2.0', id: 'b1', result: 2 },
    { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } },
    {
      jsonrpc: '2.0',
      id: 'b2',
      error: { code: 1001, message: 'Division by zero', data: { dividend: 1 } },
    },
  ]);
  const big = single.find((reply) => reply.includes('"id":9007199254740993,'));
  assert.match(big ?? '', /"code":-32602.*"path":"\/b"/, text);
  const replies = byId(single.map((reply) => JSON.parse(reply) as Reply));
  assert.deepEqual(replies.get('sum'), { jsonrpc: '2.0', id: 'sum', result: 3 });
  assert.deepEqual(replies.get(null)?.error, { code: -32700, message: 'Parse error' });
  // The end of the input waited for it, and it did not hold up the others.
  assert.deepEqual(JSON.parse(single.at(-1) ?? ''), {
    jsonrpc: '2.0',
    id: 'slow',
    result: { ms: longMs },
  });
}

describe('examples/stdio.ts', () => {
  it('answers as calls end, is silent on notifications, and drains at the end of input', async () => {
    let ended: Exit;
    do {
      // As its first comment says.
      const program = startNode([join(root, 'examples/stdio.ts')]);
      program.child.stdin?.end(mixed);
      ended = await program.exit;
      // It has the usual limit for the start of its workers, which a busy machine may exceed.
    } while (ended.stderr.includes('raise startTimeoutMs'));
    assert.equal(ended.code, 0, ended.stderr);
    assertMixedReplies(ended.stdout);
  });

  it('ends when nobody reads its output any more', async () => {
    const program = startExample('stdio.ts');
    program.child.stdout?.destroy();
    program.child.stdin?.on('error', () => {});
    program.child.stdin?.write(line({ id: 1, method: 'math.add', params: [1, 2] }));
    const { code, stderr } = await program.exit;
    assert.equal(code, 0, stderr);
  });
});

describe('examples/tcp.ts', () => {
  let program: Running;
  let port = 0;
  before(async () => {
    program = startExample('tcp.ts', '0');
    port = Number((await program.seen('stdout', /listening on 127\.0\.0\.1:(\d+)/))[1]);
  });
  after(() => program.child.kill('SIGKILL'));

  async function open(): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    await once(socket, 'connect');
    return socket;
  }
  async function readAll(socket: Socket): Promise<string> {
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
    return text;
  }

  it('answers several clients, each by itself, and drains a half-closed one', async () => {
    const [first, second] = await Promise.all([open(), open()]);
    first.end(mixed);
    second.end(line({ id: 'other', method: 'math.add', params: [20, 22] }));
    const [mixedText, otherText] = await Promise.all([readAll(first), readAll(second)]);
    assertMixedReplies(mixedText);
    assert.deepEqual(parseLines(otherText), [{ jsonrpc: '2.0', id: 'other', result: 42 }]);
  });

  it('goes on when a client vanishes in the middle of a line and of a call', async () => {
    const rude = await open();
    rude.write(`${line({ id: 1, ...long })}{"half`);
    rude.resetAndDestroy();
    const polite = await open();
    polite.end(line({ id: 2, method: 'math.add', params: [1, 2] }));
    assert.deepEqual(parseLines(await readAll(polite)), [{ jsonrpc: '2.0', id: 2, result: 3 }]);
  });

  it('answers what is in flight at SIGTERM, then ends', async () => {
    const socket = await open();
    socket.write(line({ id: 'slow', ...long }) + line({ id: 'quick', method: 'time.now' }));
    // The reply to the second line tells that the first one was read.
    const [quick] = (await once(socket, 'data')) as [Buffer];
    assert.match(quick.toString(), /"id":"quick"/);
    program.child.kill('SIGTERM');
    const rest = parseLines(await readAll(socket));
    socket.end();
    assert.deepEqual(rest, [{ jsonrpc: '2.0', id: 'slow', result: { ms: longMs } }]);
    assert.equal((await program.exit).code, 0);
  });
});

describe('examples/mounted.ts', () => {
  it('answers beside the pages of the server it is mounted in', async () => {
    const program = startExample('mounted.ts', '0');
    const [, port = ''] = await program.seen('stdout', /port: (\d+)/);
    const origin = `http://127.0.0.1:${port}`;
    assert.equal(await (await fetch(`${origin}/`)).text(), 'A page of your own.\n');
    const params = { a: 1, b: 4 };
    const reply = await callAt(`${origin}/rpc`, 'math.divide', params, { connection: 'close' });
    assert.deepEqual(reply, { jsonrpc: '2.0', id: 1, result: 0.25 });
    program.child.kill('SIGTERM');
    assert.equal((await program.exit).code, 0);
  });
});
