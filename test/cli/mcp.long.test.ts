/** docs/mcp.md, "A desktop host": `tandem mcp`, as a process. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { legacy, modern, tools } from '../mcp/stage.ts';
import { type Running, runCli, startCli } from './process.ts';

interface Line {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly progress?: number };
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
    readonly tools?: readonly { readonly name: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string };
}

/** A host of agents: it writes lines, and reads lines. */
class Host {
  readonly running: Running;

  constructor(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    const few = ['--workers', '1', '--spare-workers', '0', '--log-level', 'warn'];
    this.running = startCli(['mcp', tools, ...few, ...args], env);
  }

  /** What is no JSON would throw here: nothing else may stand on stdout. */
  get lines(): Line[] {
    const whole = this.running.stdout.split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as Line);
  }

  send(...lines: string[]): void {
    this.running.child.stdin?.write(lines.map((line) => `${line}\n`).join(''));
  }

  /** @returns the answer to a request, the line of its id */
  async ask(line: string): Promise<Line> {
    this.send(line);
    const id = JSON.stringify((JSON.parse(line) as Line).id);
    const answer = new RegExp(`^\\{"jsonrpc":"2\\.0","id":${id},.*(?=\\n)`, 'm');
    return JSON.parse((await this.running.seen('stdout', answer))[0]) as Line;
  }

  async end(): Promise<number | null> {
    this.running.child.stdin?.end();
    return (await this.running.exit).code;
  }
}

let nextId = 0;
const call = (name: string, given?: object, own: object = {}): string =>
  legacy('tools/call', { name, arguments: given, _meta: own }, ++nextId);

describe('tandem mcp', () => {
  let host: Host;
  before(() => {
    host = new Host(['--max-body', '1mb'], { TANDEM_MCP_AUTH: '{ "sub": "me" }' });
  });
  after(async () => {
    assert.equal(await host.end(), 0);
  });

  test('answers legacy and modern clients, one message a line', async () => {
    const { result } = await host.ask(legacy('initialize', { protocolVersion: '2025-06-18' }, 'i'));
    assert.deepEqual(result, {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'tandem-rpc', version: '0.1.0' },
    });
    host.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    const sum = await host.ask(call('math_sum', { a: 1, b: 2 }));
    assert.deepEqual(sum.result, {
      content: [{ type: 'text', text: '3' }],
      structuredContent: { result: 3 },
    });
    const listed = await host.ask(modern('tools/list', {}, 'l'));
    assert.equal(
      listed.result?.tools?.some(({ name }) => name === 'math_add'),
      true,
    );
    const unknown = await host.ask(modern('ping', {}, 'p'));
    assert.equal(unknown.error?.code, -32601);
  });

  test('who started it is who calls', async () => {
    const { result } = await host.ask(call('who'));
    assert.deepEqual(JSON.parse(result?.content?.[0]?.text ?? ''), {
      auth: { sub: 'me' },
      headers: {},
    });
  });

  test('what the modules print goes to stderr', async () => {
    await host.ask(call('prints'));
    await host.running.seen('stderr', /from a worker/);
  });

  test('progress comes before the answer, between other lines', async () => {
    const line = call('steps', { n: 100 }, { progressToken: 'p' });
    await host.ask(line);
    const { id } = JSON.parse(line) as Line;
    const end = host.lines.findIndex((one) => one.id === id);
    const notes = host.lines
      .slice(0, end)
      .filter(({ method }) => method === 'notifications/progress');
    assert.deepEqual(
      notes.map(({ params }) => params?.progress),
      Array.from({ length: 100 }, (_, n) => n),
    );
  });

  test('a call that is cancelled is not answered, and its signal aborts', async () => {
    const counts = async (): Promise<{ waiting: number; aborted: number }> => {
      const { result } = await host.ask(call('counts'));
      return JSON.parse(result?.content?.[0]?.text ?? '') as { waiting: number; aborted: number };
    };
    const waits = legacy('tools/call', { name: 'waits' }, 'w');
    host.send(waits);
    assert.equal((await counts()).waiting, 1);
    const cancel = (requestId: string) => {
      const params = { requestId, reason: 'enough' };
      return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    };
    host.send(cancel('other'), cancel('w'));
    assert.equal((await counts()).aborted, 1);
    // It may stand in a batch, too.
    host.send(legacy('tools/call', { name: 'waits' }, 'v'), `[${cancel('v')}]`);
    assert.equal((await counts()).aborted, 2);
    assert.deepEqual(
      host.lines.filter(({ id }) => id === 'w' || id === 'v'),
      [],
    );
  });

  test('lines that are no message are answered without an id, and others go on', async () => {
    const before = host.lines.length;
    host.send('nonsense', '', '[]', `{"x":"${'x'.repeat(1024 * 1024)}"}`);
    assert.equal((await host.ask(call('math_sum', { a: 1, b: 1 }))).result?.isError, undefined);
    const codes = host.lines.slice(before).flatMap(({ error }) => error?.code ?? []);
    assert.deepEqual(codes, [-32700, -32600, -32600]);
  });

  test('megabytes in both directions', async () => {
    const text = 'é"'.repeat(200 * 1024);
    const { result } = await host.ask(call('text_length', { text }));
    assert.deepEqual(result?.structuredContent, { length: text.length });
    const long = await host.ask(call('text_long', { length: 400_000 }));
    assert.equal(
      (JSON.parse(long.result?.content?.[0]?.text ?? '') as { text: string }).text.length,
      400_000,
    );
  });
});

describe('the end of tandem mcp', () => {
  let host: Host | undefined;
  afterEach(() => host?.running.child.kill('SIGKILL'));

  test('the end of stdin lets what has begun be answered, before the workers are ready too', async () => {
    host = new Host();
    host.send(modern('tools/call', { name: 'math_sum', arguments: { a: 1, b: 2 } }, 1));
    assert.equal(await host.end(), 0);
    assert.equal(host.lines[0]?.result?.content?.[0]?.text, '3');
  });

  test('a signal drains', async () => {
    host = new Host();
    await host.ask(call('math_sum', { a: 1, b: 2 }));
    host.running.child.kill('SIGTERM');
    assert.equal((await host.running.exit).code, 0);
  });

  test('a host that goes takes its calls with it', async () => {
    host = new Host(['--shutdown-grace', '600s']);
    host.send(call('waits'));
    // Begun by now: lines are taken in order.
    await host.ask(call('math_sum', { a: 1, b: 2 }));
    host.running.child.stdout?.destroy();
    host.send(call('math_sum', { a: 1, b: 2 }));
    assert.equal(await host.end(), 0);
  });

  test('mistakes are one line, and show no secret', async () => {
    const none = await runCli(['mcp', 'nowhere.ts']);
    assert.deepEqual([none.code, none.stdout], [1, '']);
    assert.match(none.stderr, /^tandem: module nowhere\.ts not found[^\n]*\n$/);
    const auth = await runCli(['mcp', tools], { TANDEM_MCP_AUTH: '{"key":hunter2}' });
    assert.equal(auth.code, 1);
    assert.equal(auth.stderr, 'tandem: TANDEM_MCP_AUTH: expected JSON, such as {"sub":"me"}\n');
    const http = await runCli(['mcp', tools, '--port', '1']);
    assert.match(http.stderr, /unknown option '--port'/);
  });
});

test('the options of tandem mcp are those of serve that mean something there', async () => {
  const flags = async (command: string): Promise<string[]> => {
    const { stdout } = await runCli([command, '--help']);
    return Array.from(stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, flag = '']) => flag);
  };
  const [mcp, serve] = await Promise.all([flags('mcp'), flags('serve')]);
  assert.deepEqual(
    mcp.filter((flag) => !serve.includes(flag)),
    [],
  );
  for (const flag of ['workers', 'timeout', 'max-body', 'mcp-tools', 'log-level']) {
    assert.ok(mcp.includes(`--${flag}`), flag);
  }
  for (const flag of [
    'port',
    'tls-key',
    'processes',
    'mcp',
    'metrics-port',
    'hooks',
    'http-path',
    'max-connections',
  ]) {
    assert.ok(serve.includes(`--${flag}`), flag);
    assert.ok(!mcp.includes(`--${flag}`), flag);
  }
});
