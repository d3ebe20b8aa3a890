import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { quote } from '../../src/cli/banner.ts';
import { modulePath, nodeFlags } from '../files.ts';
import { fixture, hasTerminal, postJson, startOnTerminal, startServer } from './process.ts';

const procedures = fixture('cli/procedures.ts');
const lifecycle = fixture('cli/lifecycle.ts');

/**
 * What a POSIX shell hands to `curl` when the printed line is pasted. A program of that name in PATH
 * tells, so that the test needs no curl.
 */
function pastedArguments(line: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-curl-'));
  try {
    const curl = join(folder, 'curl');
    writeFileSync(
      curl,
      `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(2)));\n`,
    );
    chmodSync(curl, 0o755);
    const { stdout, stderr } = spawnSync('sh', ['-c', line], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
    });
    assert.equal(stderr, '');
    return JSON.parse(stdout) as string[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface BannerOnTerminal {
  readonly banner: string;
  readonly url: string;
  readonly crew: string;
  /** Types Ctrl+C. */
  readonly close: () => Promise<void>;
}

/** Runs `tandem serve` on a terminal until its banner is there: that, and its first line taken apart. */
async function bannerOnTerminal(args: readonly string[]): Promise<BannerOnTerminal> {
  const command = [process.execPath, ...nodeFlags, modulePath('src/cli/main.ts'), 'serve'];
  const few = ['--port', '0', '--workers', '1', '--spare-workers', '0'];
  const line = ['exec', ...command, ...few, ...args].map(quote).join(' ');
  const terminal = startOnTerminal(line);
  const [, url = '', crew = ''] = await terminal.seen(
    'stdout',
    /listens on (http:\S+) (\([^\r]*\))\r\n.*Ready in \d+ ms\.\r\n/s,
  );
  const close = async (): Promise<void> => {
    terminal.child.stdin?.write('\x03');
    assert.equal((await terminal.exit).code, 0);
  };
  return { banner: terminal.stdout.replaceAll('\r\n', '\n'), url, crew, close };
}

const withTerminal = { skip: hasTerminal ? false : 'needs script of util-linux' };

describe('the banner of tandem serve on a terminal', withTerminal, () => {
  let banner = '';
  let url = '';
  let crew = '';
  let close: BannerOnTerminal['close'];
  after(() => close());
  before(async () => {
    ({ banner, url, crew, close } = await bannerOnTerminal([procedures, '--spare-workers', '1']));
  });

  it('gives the address that answers', async () => {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/rpc$/);
    const reply = await postJson(url, {
      jsonrpc: '2.0',
      id: 1,
      method: 'math.add',
      params: [1, 2],
    });
    assert.deepEqual(reply, { jsonrpc: '2.0', id: 1, result: 3 });
  });

  it('says how many workers there are, and on which cores', () => {
    const workers =
      /\((?:uWebSockets\.js|node:http), (\d+) workers? and an express lane, (\d+) threads in all, on (.+)\)$/.exec(
        crew,
      );
    const [, cores, quota] = /^(\d+) cores?(: \S+ allows [\d.]+)?$/.exec(workers?.[3] ?? '') ?? [];
    if (quota === undefined) assert.equal(Number(cores), availableParallelism());
    else assert.ok(Number(cores) >= 1 && Number(cores) <= availableParallelism());
    assert.equal(Number(workers?.[2]), Number(workers?.[1]) + 1);
  });

  it('lists every procedure with its types and its place, aligned', () => {
    const rows = banner.split('\n').filter((line) => /^ {2}[a-z.]+\(/.test(line));
    const cells = rows.map((row) => /^ {2}(.+?) {2,}(\S.*)$/.exec(row)?.slice(1, 3));
    assert.deepEqual(cells, [
      ['greet(name: string, title?: string) -> string', 'inline'],
      ['math.add(a: number, b: number) -> number', 'worker (auto)'],
      ['burn(ms: number) -> number', 'worker'],
      ['wait() -> null', 'inline (auto)'],
    ]);
    const columns = rows.map((row) => row.search(/ (inline|worker)/));
    assert.equal(new Set(columns).size, 1, rows.join('\n'));
  });

  it('ends with a curl line that works as pasted', async () => {
    const line = /^ {2}(curl .*)$/m.exec(banner)?.[1] ?? '';
    const [target, ...rest] = pastedArguments(line);
    assert.equal(target, url);
    assert.deepEqual(rest.slice(0, 3), ['-H', 'content-type: application/json', '-d']);
    const call = JSON.parse(rest[3] ?? '') as { method: string; params: { name: string } };
    assert.equal(call.method, 'greet');
    // Its doc asks for an apostrophe, which is what breaks careless quoting.
    const expected = { jsonrpc: '2.0', id: 1, result: `Good day, ${call.params.name}` };
    assert.deepEqual(await postJson(url, call), expected);
    assert.match(call.params.name, /'/);
  });
});

describe('tandem serve without a terminal', () => {
  for (const flags of [[], ['--no-supervisor']]) {
    it(`writes JSON lines alone; "serving" has the facts of the banner: ${flags.join(' ') || 'supervised'}`, async () => {
      const env = { TANDEM_WORKER: '3' };
      const { server, url } = await startServer([procedures, '--mcp', ...flags], env);
      server.child.kill('SIGTERM');
      const { stdout, stderr } = await server.exit;
      assert.equal(stdout, '');
      const lines = stderr
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const [{ level, time, pid, ms, msg, ...facts }, ...more] = lines.filter(
        ({ event }) => event === 'serving',
      );
      assert.deepEqual(more, []);
      assert.deepEqual([level, pid, typeof time], ['info', server.child.pid, 'string']);
      assert.ok(ms > 0);
      assert.match(
        msg,
        /^tandem \S+ listens on http:\S+ \((?:uWebSockets\.js|node:http), 1 worker .*\)$/,
      );
      const mcpUrl = new URL('/mcp', url).href;
      assert.deepEqual(facts, {
        event: 'serving',
        url,
        mcpUrl,
        metricsUrl: new URL('/metrics', url).href,
        consoleUrl: new URL('/console/', url).href,
        processes: 1,
        workers: 1,
        procedures: 4,
      });
    });
  }
});

describe('the banner of tandem serve --http-path', withTerminal, () => {
  it('has a link to the OpenAPI document', async (t) => {
    const { banner, url, close } = await bannerOnTerminal([procedures, '--http-path', '/api']);
    t.after(close);
    const [, link = ''] = /^As plain HTTP: (\S+)$/m.exec(banner) ?? [];
    assert.equal(link, new URL('/openapi.json', url).href);
    assert.equal((await fetch(link)).status, 200);
  });
});

describe('tandem serve with a group of workers', () => {
  const groups = ['--group', 'heavy:workers=2,spareWorkers=0,workerMemoryMb=256'];
  const args = [fixture('service/groups.ts'), ...groups, '--spare-workers', '1'];

  it('names it in the banner', withTerminal, async (t) => {
    const { banner, crew, close } = await bannerOnTerminal(args);
    t.after(close);
    assert.match(crew, /, 1 worker and an express lane, 4 threads in all, on /);
    const row = '  group heavy: 2 workers without an express lane (no spare), 256 MB of heap each';
    assert.ok(banner.split('\n').includes(row), banner);
    assert.match(banner, /^ {2}heavy\.thread\(\.\.\.\) -> unknown +worker:heavy$/m);
  });
});

describe('signals', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal} lets the call in flight end, then exits with 0`, async () => {
      const { server, url } = await startServer([lifecycle]);
      const reply = postJson(url, { id: 1, method: 'untilSignal' });
      await server.seen('stdout', /untilSignal entered/);
      server.child.kill(signal);
      assert.deepEqual(await reply, { jsonrpc: '2.0', id: 1, result: signal });
      const { code, stderr } = await server.exit;
      assert.equal(code, 0, stderr);
    });
  }
});
