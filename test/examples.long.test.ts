import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Exit, type Running, startModule, startNode } from './cli/process.ts';
import { root } from './files.ts';

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

/** One process that several tests talk to; its replies are told apart by their ids. */
class Conversation {
  readonly program = startExample('stdio.ts');
  #nextId = 0;

  send(text: string | Uint8Array): void {
    this.program.child.stdin?.write(text);
  }

  /** The replies to `calls`, in the order of the calls. */
  async ask(...calls: Reply[]): Promise<Reply[]> {
    const numbered = calls.map((call) => ({ ...call, id: `ask-${this.#nextId++}` }));
    this.send(numbered.map(line).join(''));
    for (const { id } of numbered)
      await this.program.seen('stdout', new RegExp(`"id":"${id}",.*\n`));
    const replies = byId(parseLines(this.program.stdout));
    return numbered.map(({ id }) => replies.get(id) ?? {});
  }
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

describe('a conversation with examples/stdio.ts', () => {
  let conversation: Conversation;
  before(() => {
    conversation = new Conversation();
  });
  after(async () => {
    conversation.program.child.stdin?.end();
    assert.equal((await conversation.program.exit).code, 0);
  });
  const add = (a: number, b: number) => ({ method: 'math.add', params: [a, b] });

  it('goes line by line', async () => {
    for (const n of [1, 2, 3]) {
      const [reply] = await conversation.ask(add(n, n));
      assert.equal(reply?.result, 2 * n);
    }
  });

  it('reads a line that comes in pieces, in the middle of a character too', async () => {
    const bytes = Buffer.from(line({ id: 'pieces', method: 'text.stats', params: ['é', 1] }));
    const middle = bytes.indexOf(0xc3) + 1;
    conversation.send(bytes.subarray(0, middle));
    conversation.send(bytes.subarray(middle));
    const [text] = await conversation.program.seen('stdout', /.*"id":"pieces".*\n/);
    const { result } = JSON.parse(text) as { result: Reply };
    assert.deepEqual(result.topWords, [{ word: 'é', count: 1 }]);
  });

  it('refuses a line that is too long, and goes on with the next one', async () => {
    const limit = 10 * 1024 * 1024;
    conversation.send(`"${'x'.repeat(limit)}"\n`);
    assert.equal((await conversation.ask(add(1, 2)))[0]?.result, 3);
    const [text] = await conversation.program.seen('stdout', /.*"id":null.*\n/);
    const error = { code: -32004, message: 'Limit exceeded', data: { limit } };
    assert.deepEqual(JSON.parse(text), { jsonrpc: '2.0', id: null, error });
  });

  it('answers a thousand lines at once, each exactly once', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `many-${index}`);
    conversation.send(ids.map((id, n) => line({ id, ...add(n, 1) })).join(''));
    for (const id of ids) await conversation.program.seen('stdout', new RegExp(`"id":"${id}",`));
    await conversation.ask(add(0, 0));
    const replies = parseLines(conversation.program.stdout).filter((reply) =>
      String(reply.id).startsWith('many-'),
    );
    assert.equal(replies.length, ids.length);
    const results = byId(replies);
    ids.forEach((id, n) => {
      assert.equal(results.get(id)?.result, n + 1);
    });
  });

  it('hashes a password that it then verifies, and no other', async () => {
    const password = 'correct horse';
    const [hashed] = await conversation.ask({ method: 'auth.hash', params: { password } });
    const result = hashed?.result as { salt: string; hash: string };
    assert.match(result.salt, /^[0-9a-f]{32}$/);
    assert.match(result.hash, /^[0-9a-f]{64}$/);
    const [right, wrong] = await conversation.ask(
      { method: 'auth.verify', params: { password, ...result } },
      { method: 'auth.verify', params: { ...result, password: 'wrong' } },
    );
    assert.equal(right?.result, true);
    assert.equal(wrong?.result, false);
  });

  it('prices an order, and names what is wrong with one', async () => {
    const price = (item: Reply) => ({
      method: 'shop.price',
      params: {
        order: { customer: { name: 'Ada', country: 'DE' }, items: [item], discountPercent: 10 },
      },
    });
    const [priced, short, strange] = await conversation.ask(
      price({ sku: 'MUG-001', quantity: 2 }),
      price({ sku: 'TEE-002', quantity: 13 }),
      price({ sku: 'MUG-001', quantity: 1, gift: true }),
    );
    // 2 x 12.90 less 10% is 23.22; 19% of it is 4.41 (4.4118).
    assert.deepEqual(priced?.result, {
      netCents: 2322,
      taxCents: 441,
      totalCents: 2763,
      lines: [{ sku: 'MUG-001', cents: 2580 }],
    });
    assert.deepEqual(short?.error, {
      code: 2002,
      message: 'Out of stock',
      data: { sku: 'TEE-002', available: 12 },
    });
    const refused = strange?.error as { code: number; data: { path: string }[] };
    assert.equal(refused.code, -32602);
    assert.equal(refused.data[0]?.path, '/order/items/0/gift');
  });

  it('counts the words of megabytes of text', async () => {
    const lines = "It was the best of times,\nit was the worst of times: don't panic.\n";
    const text = lines.repeat(50_000);
    const [reply] = await conversation.ask({ method: 'text.stats', params: { text, top: 2 } });
    assert.deepEqual(reply?.result, {
      characters: text.length,
      lines: 100_001,
      words: 14 * 50_000,
      uniqueWords: 9,
      topWords: [
        { word: 'it', count: 100_000 },
        { word: 'of', count: 100_000 },
      ],
      longestLine: { line: 2, length: 39 },
    });
  });

  it('sums numbers up, and tells the time', async () => {
    const [summary, now] = await conversation.ask(
      { method: 'math.summary', params: { values: [2, 4, 4, 4, 5, 5, 7, 9] } },
      { method: 'time.now' },
    );
    assert.deepEqual(summary?.result, { count: 8, mean: 5, deviation: 2 });
    assert.match(String(now?.result), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
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
    const reply = await fetch(`${origin}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ id: 1, method: 'math.divide', params: { a: 1, b: 4 } }),
    });
    assert.deepEqual(await reply.json(), { jsonrpc: '2.0', id: 1, result: 0.25 });
    program.child.kill('SIGTERM');
    assert.equal((await program.exit).code, 0);
  });
});
