import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../files.ts';
import { type BannerOnTerminal, bannerOnTerminal, withTerminal } from './banner-on-terminal.ts';
import { ask, fixture, startServer } from './process.ts';

const procedures = fixture('cli/procedures.ts');

/**
 * What a POSIX shell hands to `curl` when the printed line is pasted. A program of that name in PATH
 * tells, so that the test needs no curl.
 */
function pastedArguments(t: TestContext, line: string): string[] {
  const folder = temporaryFolder(t);
  const print = 'console.log(JSON.stringify(process.argv.slice(2)));';
  writeFileSync(join(folder, 'curl'), `#!${process.execPath}\n${print}\n`, { mode: 0o755 });
  const { stdout, stderr } = spawnSync('sh', ['-c', line], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
  });
  assert.equal(stderr, '');
  return JSON.parse(stdout) as string[];
}

describe('the banner of tandem serve on a terminal', withTerminal, () => {
  let banner = '';
  let url = '';
  let threadsText = '';
  let close: BannerOnTerminal['close'];
  after(() => close());
  before(async () => {
    ({ banner, url, threadsText, close } = await bannerOnTerminal([
      procedures,
      '--spare-workers',
      '1',
    ]));
  });

  it('gives the address that answers', async () => {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/rpc$/);
    const reply = await ask(url, {
      jsonrpc: '2.0',
      id: 1,
      method: 'math.add',
      params: [1, 2],
    });
    assert.deepEqual(reply, { jsonrpc: '2.0', id: 1, result: 3 });
  });

  it('says how many workers there are, and on which cores', () => {
    const workers =
      /\((?:uWebSockets\.js|node:http), (\d+) workers? and an express worker, (\d+) threads in all, on (.+)\)$/.exec(
        threadsText,
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

  it('ends with a curl line that works as pasted', async (t) => {
    const line = /^ {2}(curl .*)$/m.exec(banner)?.[1] ?? '';
    const [target, ...rest] = pastedArguments(t, line);
    assert.equal(target, url);
    assert.deepEqual(rest.slice(0, 3), ['-H', 'content-type: application/json', '-d']);
    const call = JSON.parse(rest[3] ?? '') as { method: string; params: { name: string } };
    assert.equal(call.method, 'greet');
    // Its doc asks for an apostrophe, which is what breaks careless quoting.
    const expected = { jsonrpc: '2.0', id: 1, result: `Good day, ${call.params.name}` };
    assert.deepEqual(await ask(url, call), expected);
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
