import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, describe, it, type TestContext } from 'node:test';
import { Router, RpcApp, RpcError, Type } from '../../src/index.ts';
import { listenTo } from '../harness.ts';
import { CommandLine } from './command-line.ts';
import { type Exit, runCli, startCli } from './process.ts';

const seen: unknown[] = [];
let noticed: () => void = () => {};
const router = new Router();
const inline = { placement: 'inline' } as const;
router.rpc(
  {
    ...inline,
    name: 'math.add',
    params: Type.Object({ a: Type.Number(), b: Type.Number({ default: 1 }) }),
  },
  ({ a, b }) => a + b,
);
router.rpc(
  {
    ...inline,
    name: 'echo',
    params: Type.Object({ v: Type.Unknown(), w: Type.Optional(Type.Unknown()) }),
  },
  (params) => params,
);
router.rpc({ ...inline, name: 'note' }, (params) => {
  seen.push(params);
  noticed();
  return 1;
});
router.rpc({ ...inline, name: 'fail' }, () => {
  throw new RpcError(42, 'It \u001b[2J broke', { why: ['\u009b', 1] });
});
router.rpc({ name: 'wait', async: true }, () => new Promise(() => {}));
router.rpc({ ...inline, name: 'headers' }, (_params, { headers }) => headers);

const app = new RpcApp({ router, port: 0, logLevel: 'silent', forwardHeaders: ['x-one', 'x-two'] });
const { url } = await app.listen();
after(() => app.close());

const commands = CommandLine.suite();

function call(...args: string[]): Promise<Exit> {
  return commands.run(['call', url, ...args]);
}

describe('tandem call', () => {
  const results: readonly (readonly [args: string[], result: unknown])[] = [
    [['math.add', '{"a":1,"b":2}'], 3],
    [['math.add', '1', '2'], 3],
    [['math.add', '[5,6]'], 11],
    [['math.add', '-1', '-2.5'], -3.5],
    [['math.add', '41'], 42],
    [['echo', 'a bare string'], { v: 'a bare string' }],
    [['echo', '"quoted"', 'null'], { v: 'quoted', w: null }],
    [['echo', '[[1,2]]'], { v: [1, 2] }],
    [['echo', '{"x":1}', 'true'], { v: { x: 1 }, w: true }],
    [['headers', '-H', 'x-one: 1', '--header', 'X-Two:a: b'], { 'x-one': '1', 'x-two': 'a: b' }],
  ];
  for (const [args, result] of results) {
    it(args.join(' '), async () => {
      const { code, stdout, stderr } = await call(...args);
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(stdout, `${JSON.stringify(result)}\n`);
    });
  }

  it('reads the params from stdin', async () => {
    const running = startCli(['call', url, 'math.add', '-']);
    running.child.stdin?.end('{"a": 2,\n "b": 3}\n');
    assert.equal((await running.exit).stdout, '5\n');
  });

  it('--notify sends no id and prints nothing', async () => {
    const noted = new Promise<void>((resolve) => {
      noticed = resolve;
    });
    const { code, stdout, stderr } = await call('note', '{"x":1}', '--notify');
    await noted;
    assert.deepEqual([code, stdout, stderr], [0, '', '']);
    assert.deepEqual(seen, [{ x: 1 }]);
  });

  it('tells an error with its code, message and data', async () => {
    const { code, stdout, stderr } = await runCli(['call', url, 'fail']);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr,
      'tandem: fail: It \\u001b[2J broke (42)\n  {\n    "why": [\n      "\\u009b",\n      1\n    ]\n  }\n',
    );
  });

  it('tells of refused params as a table', async () => {
    const { code, stderr } = await call('math.add', '{"a":"x","c":1}');
    assert.equal(code, 1);
    const [first, head, ...rows] = stderr.trimEnd().split('\n');
    assert.equal(first, 'tandem: math.add: Invalid params (-32602)');
    assert.match(head ?? '', /^ {2}path +message +expected +received$/);
    assert.equal(rows.length, 2);
    const a = rows.find((row) => row.startsWith('  /a ')) ?? '';
    assert.match(a, /number +string$/);
    // The columns stand under their heads.
    assert.equal(a.lastIndexOf('string'), head?.indexOf('received'));
  });

  it('suggests the nearest name', async () => {
    const { code, stderr } = await call('math.ad', '1');
    assert.equal(code, 1);
    assert.equal(stderr, 'tandem: math.ad: Method not found (-32601); did you mean math.add?\n');
  });

  it('--timeout ends a call', async () => {
    const { code, stderr } = await call('wait', '--timeout', '200ms');
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: wait: Deadline exceeded \(-32001\)\n/);
  });

  /** The URL of a server that gives this answer to everything. */
  async function answering(t: TestContext, contentType: string, text: string): Promise<string> {
    const port = await listenTo(t, (_request, response) => {
      response.setHeader('content-type', contentType).end(text);
    });
    return `http://127.0.0.1:${port}/`;
  }

  it('prints a result as the server wrote it: large numbers, any depth', async (t) => {
    const result = `[9007199254740993,1.0,${'['.repeat(20_000)}${']'.repeat(20_000)}]`;
    const text = `{ "jsonrpc": "2.0", "id": 1, "result": ${result} }`;
    const target = await answering(t, 'application/json', text);
    // The first request of a process has the id 1.
    const { code, stdout, stderr } = await runCli(['call', target, 'a']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout, `${result}\n`);
  });

  it('prints the result of a reply whose members stand in another order', async (t) => {
    const text = '{"result": {"result": "}"}, "id": 1, "jsonrpc": "2.0"}';
    const target = await answering(t, 'application/json', text);
    const { stdout, stderr } = await runCli(['call', target, 'a']);
    assert.deepEqual([stdout, stderr], ['{"result":"}"}\n', '']);
  });

  it('names what is wrong with a server', async (t) => {
    const target = await answering(t, 'text/html', '<h1>\u001b[2J\n  nothing</h1>');
    const { code, stderr } = await commands.run(['call', target, 'a']);
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: http:\S+ \(200 text\/html\): [^\n]*nothing[^\n]*\n$/);
    assert.ok(!stderr.includes('\u001b'));
  });

  const mistakes: readonly (readonly [args: string[], says: RegExp])[] = [
    [['call', 'localhost:8000', 'a'], /localhost:8000 is no http or https URL/],
    [
      ['call', 'http://127.0.0.1:1/rpc', 'a'],
      /^tandem: http:\/\/127\.0\.0\.1:1\/rpc: .*(ECONNREFUSED|bad port)/,
    ],
    [['call', 'http+unix://%2Frun%2Frpc.sock/rpc', 'a'], /use curl --unix-socket <file> http/],
    [['call', 'http://127.0.0.1:1/rpc'], /missing required argument 'method'/],
    [['call', 'http://127.0.0.1:1/rpc', 'a', '{"x":'], /the argument \{"x": is not JSON/],
    [['call', 'http://127.0.0.1:1/rpc', 'a', '--header', 'x'], /--header.*Expected 'name: value'/],
    [['call', 'http://127.0.0.1:1/rpc', 'a', '--timeout', 'soon'], /--timeout.*500ms, 30s or 5m/],
  ];
  for (const [args, says] of mistakes) {
    it(`is told in one line: ${args.slice(1).join(' ')}`, async () => {
      const { code, stdout, stderr } = await commands.run(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, says);
      assert.match(stderr, /^tandem: [^\n]+\n$/);
    });
  }
});

describe('what call sends', () => {
  it('keeps numbers as they were written', async (t) => {
    const bodies: string[] = [];
    const port = await listenTo(t, async (request, response) => {
      const body = await text(request);
      bodies.push(body);
      response.end(`{"jsonrpc":"2.0","id":${JSON.parse(body).id},"result":1}`);
    });
    const target = `http://127.0.0.1:${port}/`;
    const sent = async (...args: string[]): Promise<string | undefined> => {
      const { code, stderr } = await commands.run(['call', target, 'a', ...args]);
      assert.deepEqual([code, stderr], [0, '']);
      return /"params":(.*)\}$/.exec(bodies.pop() ?? '')?.[1];
    };
    assert.equal(await sent('9007199254740993', '1.0', '1e3'), '[9007199254740993,1.0,1e3]');
    assert.equal(await sent('{"id":9007199254740993}'), '{"id":9007199254740993}');
    assert.equal(await sent(), undefined);
    assert.equal(await sent(''), '[""]');
  });

  it('refuses a header that HTTP cannot carry, and names it', async () => {
    const { code, stderr } = await call('echo', '1', '-H', 'x-a: \u65e5');
    assert.equal(code, 1);
    assert.match(stderr, /'x-a: \u65e5' is invalid\. The value of x-a holds a character/);
  });
});
