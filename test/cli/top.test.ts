import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { readScrape, view } from '../../src/cli/tools/top/server.ts';
import { Router, RpcApp } from '../../src/index.ts';
import { modulePath, nodeFlags } from '../files.ts';
import { CommandLine } from './command-line.ts';
import { fixture, Running, runCli, startServer } from './process.ts';

const main = modulePath('src/cli/main.ts');

async function call(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.text();
}

describe('tandem top', () => {
  const commands = CommandLine.suite();
  let url = '';
  let server: Running;

  before(async () => {
    ({ server, url } = await startServer([fixture('cli/procedures.ts')]));
    const add = { method: 'math.add', params: { a: 1, b: 2 }, id: 1 };
    await call(url, [add, add, add, { method: 'math.add', params: {}, id: 2 }]);
    await call(url, { method: 'no\u001b[2Jbody', id: 3 });
  });

  after(async () => {
    server.child.kill('SIGTERM');
    await server.exit;
  });

  it('--once prints the figures as text, whichever address of the server it is given', async () => {
    const { origin, host } = new URL(url);
    for (const address of [origin, url, host, `${origin}/metrics`]) {
      const { code, stdout, stderr } = await commands.run(['top', address, '--once']);
      assert.equal(code, 0, stderr);
      const lines = stdout.split('\n');
      assert.equal(lines[0], `tandem top ${origin}/metrics`);
      assert.match(
        stdout,
        /^calls 5 {2}errors 2 {2}shed 0 {2}queue 0 {2}in flight 0 inline, 0 in workers$/m,
      );
      assert.match(
        stdout,
        /^workers 1 active, \d spare, \d starting {2}lane \d {2}deaths 0 {2}kills 0 /m,
      );
      assert.match(stdout, /^event loop late by .* p50, .* p99, .* at most$/m);
      assert.match(stdout, /^memory \d+ MB, heap \d+ MB {2}processes 1 {2}up \d+s$/m);
      assert.match(stdout, /^busiest tw-worker-\d( \S+ (us|ms|s))? \d+ MB/m);
      assert.match(stdout, /^math\.add +worker +synchronous +4 +1( +\S+ (us|ms|s)){4}$/m);
      assert.match(stdout, /^\(unknown\) +none +- +1 +1( +-){4}$/m);
      assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u);
    }
  });

  it('prints the same where its output is no terminal', async () => {
    const { code, stdout } = await runCli(['top', url]);
    assert.equal(code, 0);
    assert.match(stdout, /^calls 5 /m);
  });

  const isThere = spawnSync('script', ['--version']).status === 0;
  it('on a terminal shows them until q, and gives the terminal back', {
    skip: isThere ? false : 'needs script of util-linux',
  }, async () => {
    const command = `stty rows 30 cols 100; ${[process.execPath, ...nodeFlags, main].join(' ')} top ${url} --interval 250ms; stty -a`;
    const terminal = new Running(spawn('script', ['-qec', command, '/dev/null']));
    // Another screen, its cursor hidden; drawn again and again.
    await terminal.seen('stdout', /\p{Cc}\[\?1049h\p{Cc}\[\?25l(?:.*?\p{Cc}\[H){3}/su);
    assert.match(terminal.stdout, /tandem top http:\S+ {2}q ends/);
    await terminal.seen('stdout', /calls 0\/s/);
    terminal.child.stdin?.write('q');
    const { code, stdout } = await terminal.exit;
    assert.equal(code, 0);
    const end = stdout.lastIndexOf('\u001b[?25h\u001b[?1049l');
    assert.ok(end > 0, 'the cursor and the screen are back');
    // What stty says after it: lines and echo as before.
    assert.match(stdout.slice(end), /[ ;]icanon\b/);
    assert.match(stdout.slice(end), /[ ;]echo\b/);
    assert.doesNotMatch(stdout.slice(end), /tandem:/);
  });

  for (const [what, args, line] of [
    ['no URL', ['ftp://x'], /^tandem: ftp:\/\/x is no URL of a server, such as \S+\n$/],
    ['nobody there', ['127.0.0.1:9'], /^tandem: GET http:\/\/127\.0\.0\.1:9\/metrics: .+\n$/],
    ['too short an interval', ['127.0.0.1', '--interval', '1ms'], /^tandem: .*at least 250ms.*\n$/],
  ] as const) {
    it(`tells ${what} in one line`, async () => {
      const { code, stdout, stderr } = await commands.run(['top', ...args]);
      assert.equal(code, 1);
      assert.equal(stdout, '');
      assert.match(stderr, line);
    });
  }

  it('tells of a server without such metrics in one line', async () => {
    const router = new Router();
    router.rpc({ name: 'one', placement: 'inline' }, () => 1);
    const other = new RpcApp({ router, port: 0, metrics: false, logLevel: 'silent' });
    const { url: address } = await other.listen();
    const { code, stderr } = await commands.run(['top', address]);
    await other.close();
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: GET http:\S+\/metrics: the status 404\n$/);
  });
});

describe('the figures of a scrape', () => {
  const commands = CommandLine.suite();
  let scraped = '';
  const server = createServer((_request, response) => response.end(scraped));
  let url = '';
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  /** The lines that `tandem top --once` prints of these metrics. */
  async function linesOf(metrics: string): Promise<string[]> {
    scraped = metrics;
    const { code, stdout, stderr } = await commands.run(['top', url, '--once']);
    assert.equal(code, 0, stderr);
    return stdout.trimEnd().split('\n');
  }

  const text = `# TYPE tandem_calls_total counter
tandem_calls_total{procedure="a\\"b\\\\c\\nd",code="0",place="inline"} 3
tandem_calls_total{procedure="a\\"b\\\\c\\nd",code="-32603",place="worker"} 1
tandem_queue_calls{process="1"} 2
tandem_queue_calls{process="2"} 5
tandem_event_loop_delay_p99_seconds{process="1"} 0.2
tandem_event_loop_delay_p99_seconds{process="2"} 0.1
this is no sample
`;

  it('are summed over processes, the worst of their delays', async () => {
    const lines = await linesOf(text);
    assert.match(lines[1] ?? '', /^calls 4 {2}errors 1 {2}shed 0 {2}queue 7 /);
    assert.ok(lines.includes('event loop late by - p50, 200 ms p99, - at most'));
    assert.match(lines.join('\n'), / processes 2 /);
    assert.match(lines.at(-1) ?? '', /^a"b\\c\\u000ad +inline\+worker +- +4 +1 /);
  });

  it('show what has held the front end longest', async () => {
    const blocked = `tandem_front_end_blocked_total{procedure="a"} 1
tandem_front_end_blocked_seconds_total{procedure="a"} 0.5
tandem_front_end_blocked_total{procedure="(authenticate)"} 3
tandem_front_end_blocked_seconds_total{procedure="(authenticate)"} 2.5
`;
    const line = 'front end held by (authenticate), 3 times, 2.50 s in all';
    assert.ok((await linesOf(`${text}${blocked}`)).includes(line));
    assert.ok(!(await linesOf(text)).some((other) => other.startsWith('front end held')));
  });

  it('have a line for each group of workers, whose calls wait in a queue of their own', async () => {
    const groups = `tandem_workers{state="active",process="1"} 3
tandem_workers{state="active",group="gpu",process="1"} 2
tandem_workers{state="spare",group="gpu",process="1"} 1
tandem_queue_calls{group="gpu",process="1"} 4
tandem_worker_kills_total{group="gpu"} 6
`;
    const lines = await linesOf(`${text}${groups}`);
    assert.match(lines[1] ?? '', / queue 11 /);
    assert.match(lines[2] ?? '', /^workers 3 active, 0 spare, /);
    const line =
      'group gpu  2 active, 1 spare, 0 starting  lane 0  deaths 0  kills 6  zombies 0  restarts 0  queue 4';
    assert.ok(lines.includes(line), lines.join('\n'));
  });

  it('name the threads of workers that compute most, and for how long procedures held theirs', async () => {
    const workers = (cpu: readonly number[]) =>
      `tandem_worker_cpu_seconds_total{worker="1",process="1"} ${cpu[0]}
tandem_worker_cpu_seconds_total{worker="2",process="1"} ${cpu[1]}
tandem_worker_cpu_seconds_total{worker="1",group="gpu",process="1"} ${cpu[2]}
tandem_worker_heap_bytes{worker="1",process="1"} 1048576
tandem_worker_heap_bytes{worker="2",process="1"} 2097152
tandem_worker_heap_bytes{worker="1",group="gpu",process="1"} 3145728
tandem_calls_total{procedure="a",code="0",place="worker"} 5
tandem_call_busy_seconds_total{procedure="a",place="worker"} ${cpu[1]}
`;
    const before = workers([1, 0.5, 2]);
    const lines = await linesOf(before);
    assert.ok(
      lines.includes(
        'busiest tw-gpu-1 2.00 s 3 MB, tw-worker-1 1.00 s 1 MB, tw-worker-2 500 ms 2 MB',
      ),
      lines.join('\n'),
    );
    assert.match(lines.at(-1) ?? '', /^a +worker +- +5 +0 +500 ms +- +- +-$/);
    // Two seconds later: a part of one core.
    const [then, now] = [readScrape(before, 0), readScrape(workers([1, 2.4, 2.1]), 2000)];
    assert.ok(then !== undefined && now !== undefined);
    const later = view('', now, then, { rows: undefined, columns: undefined });
    assert.ok(
      later.includes('busiest tw-worker-2 95% 2 MB, tw-gpu-1 5.0% 3 MB, tw-worker-1 0.0% 1 MB'),
      later.join('\n'),
    );
    assert.match(later.at(-1) ?? '', /^a +worker +- +\S+ +\S+ +95% /);
  });

  it('count threads that are not named, and say of which process one is', async () => {
    const heap = (worker: number, process: number) =>
      `tandem_worker_heap_bytes{worker="${worker}",process="${process}"} 1048576\n`;
    const lines = await linesOf([1, 2, 3].map((n) => heap(n, 1) + heap(n, 2)).join(''));
    const line = lines.find((one) => one.startsWith('busiest '));
    assert.match(line ?? '', /^busiest tw-worker-1 of process 1 1 MB, .*, 2 more$/);
  });

  it("are none of another service's metrics", async () => {
    scraped = '# TYPE x counter\nx 1\n';
    const { code, stderr } = await commands.run(['top', url, '--once']);
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: GET [^\n]+: these are no metrics of tandem\n$/);
  });
});
