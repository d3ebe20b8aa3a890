import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Answer, Stacks } from '../../../src/server/process/orders.ts';
import { Running, runCli } from '../../cli/process.ts';
import { needs } from '../../servers.ts';
import { until } from '../../turns.ts';
import { CompiledCli, logged, logOf, service, written } from './cli.ts';
import { ask, Load, pids, where } from './load.ts';

/** Admin commands: docs/operations.md, "Admin commands". */

const cli = await CompiledCli.suite();

async function answers(path: string, ...order: string[]): Promise<Answer[]> {
  const { code, stdout, stderr } = await runCli([...order, '--json', '--admin-socket', path]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Answer[];
}

/** The addresses at which a process listens, by Linux. */
function listeners(pid: number): string[] {
  const sockets = new Set<string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
      if (inode !== undefined) sockets.add(inode);
    } catch {
      // It was closed meanwhile.
    }
  }
  const rows = (name: string): string[][] =>
    readFileSync(`/proc/net/${name}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
  const tcp = ['tcp', 'tcp6']
    .flatMap(rows)
    .filter((row) => row[3] === '0A' && sockets.has(row[9] ?? ''));
  const unix = rows('unix').filter((row) => row[3] === '00010000' && sockets.has(row[6] ?? ''));
  return [...tcp.map((row) => `tcp ${row[1]}`), ...unix.map((row) => `unix ${row[7]}`)];
}

let count = 0;
const freePath = (): string => join(cli.folder, `admin${count++}`);

describe('the socket', () => {
  test('is there with the option alone, and no other port is opened, whatever is asked', {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const path = freePath();
    for (const option of [[], ['--admin-socket', path]]) {
      const { server, url } = await cli.serveFor(t, [service, '--timeout', '300ms', ...option]);
      const pid = await where(url);
      // A thread that shows its stack.
      await ask(url, { id: 1, method: 'spin' });
      await logged(server, /a worker was ended/);
      if (option.length > 0) await answers(path, 'stack');
      assert.equal(listeners(pid).length, 1, listeners(pid).join());
      const own = listeners(server.child.pid ?? 0);
      assert.deepEqual(
        own.map((one) => one.split(' ')[0]),
        option.length > 0 ? ['unix'] : [],
      );
      server.child.kill('SIGTERM');
      await server.exit;
      assert.equal(existsSync(path), false);
    }
  });

  test('is for the user of the service alone', async (t) => {
    const path = freePath();
    await cli.serveFor(t, [service, '--admin-socket', path]);
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
  });

  test('refuses another user', {
    skip: process.getuid?.() !== 0 && 'only root can become another user',
  }, async (t) => {
    const path = freePath();
    await cli.serveFor(t, [service, '--admin-socket', path]);
    const folder = lstatSync(cli.folder);
    chmodSync(cli.folder, folder.mode | 0o755);
    // It gives root up itself: another user may not be allowed to start this Node.
    const program = `process.setuid(65534);
      require('net').connect(process.argv[1]).on('error', (e) => console.log(e.code)).on('connect', () => process.exit())`;
    const other = spawn(process.execPath, ['-e', program, path], { cwd: '/' });
    const { stdout } = await new Running(other).exit;
    assert.equal(stdout, 'EACCES\n');
  });

  for (const flags of [['--supervisor'], ['--no-supervisor']])
    test(`leaves a file in its place alone, and replaces what a dead service has left: ${flags.join()}`, async (t) => {
      const path = freePath();
      writeFileSync(path, 'mine');
      const refused = cli.run([service, '--port', '0', '--admin-socket', path, ...flags]);
      const { code, stderr } = await refused.exit;
      assert.equal(code, 1);
      assert.match(stderr, /^tandem: option adminSocket: \S+ is there already and is no socket/m);
      assert.equal(readFileSync(path, 'utf8'), 'mine');
      const stale = freePath();
      const killed = await cli.serveFor(t, [service, '--admin-socket', stale, ...flags]);
      await until(() => existsSync(stale));
      killed.server.child.kill('SIGKILL');
      await killed.server.exit;
      assert.ok(existsSync(stale));
      await cli.serveFor(t, [service, '--admin-socket', stale, ...flags]);
      await until(() => existsSync(stale));
      const [only] = await answers(stale, 'stack');
      assert.equal(only?.process, 1);
    });

  test('refuses what is no order, and goes on', async (t) => {
    const path = freePath();
    await cli.serveFor(t, [service, '--admin-socket', path]);
    for (const [text, error] of [
      ['stack\n', 'not JSON'],
      ['[]\n', 'not an order'],
      ['{"order":"constructor"}\n', 'not an order'],
      ['{"order":"log-level","level":"all","forMs":1000}\n', 'level: expected one of'],
      ['{"order":"log-level","level":"debug","forMs":1e12}\n', 'the time: expected 1s to 24h'],
      [`{"order":"${'a'.repeat(5000)}`, 'too long'],
    ] as const)
      assert.ok((await written(path, text)).startsWith(`{"error":"${error}`), text);
    for (let i = 0; i < 50; i++)
      connect(path)
        .on('error', () => {})
        .end('{"order":"stack"}\n')
        .destroy();
    assert.match(
      await written(path, '{"order":"stack"}\n'),
      /^\{"process":1,.*\}\n\{"done":true\}\n$/,
    );
  });

  test('is the only way: nothing of it is a procedure, a path or a tool', async (t) => {
    const path = freePath();
    const flags = ['--mcp', '--metrics-port', '0', '--admin-socket', path];
    const { server, url } = await cli.serveFor(t, [service, ...flags]);
    const [ready] = await logged(server, /^ready$/);
    const metrics = new URL(String(ready?.metricsUrl)).origin;
    assert.notEqual(metrics, new URL(url).origin);
    for (const name of ['stack', 'heap', 'profile', 'log-level', 'logLevel', 'order']) {
      for (const method of [name, `rpc.${name}`]) {
        const { body } = (await ask(url, { id: 1, method })) as {
          body: { error: { code: number } };
        };
        assert.equal(body.error.code, -32601, method);
      }
      for (const base of [new URL(url).origin, metrics])
        for (const place of ['', '/console', '/admin', '/mcp']) {
          const { status } = await fetch(`${base}${place}/${name}`, { method: 'POST' });
          assert.ok(status === 404 || status === 405, `${base}${place}/${name}: ${status}`);
        }
    }
    const list = await fetch(new URL('/mcp', url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    assert.doesNotMatch(await list.text(), /"name":"(?:stack|heap|profile|log)/);
  });
});

describe('the commands', () => {
  test('say in one line why they can not', async () => {
    const none = freePath();
    for (const [args, message] of [
      [
        ['stack'],
        'give --admin-socket PATH, or set TANDEM_ADMIN_SOCKET: the socket of the service',
      ],
      [
        ['stack', '--admin-socket', none],
        `no service listens at ${none}: start one with --admin-socket ${none}`,
      ],
      [
        ['log-level', 'debug', '--admin-socket', plainFile()],
        `no service listens at ${plainFile()} any more: start it again`,
      ],
    ] as const) {
      const { code, stderr } = await runCli([...args]);
      assert.deepEqual([code, stderr], [1, `tandem: ${message}\n`]);
    }
  });

  test(
    'stack shows every thread of every process under load, and no call fails',
    needs('uws'),
    async (t) => {
      const path = freePath();
      const flags = ['--processes', '2', '--workers', '2', '--admin-socket', path];
      const { url } = await cli.serveFor(t, [service, ...flags]);
      const processes = new Set(await pids(url, 2));
      const load = new Load(url, 8);
      for (let round = 0; round < 20; round++) {
        const told = await answers(path, 'stack');
        assert.deepEqual(new Set(told.map(({ pid }) => pid)), processes);
        for (const { answer } of told) {
          const { main, workers } = answer as Stacks;
          assert.ok(main.length > 0);
          assert.equal(workers.length, 2);
          for (const { stack } of workers) assert.match(stack, /^at |^no stack: /);
        }
      }
      for (const { error, failure } of await load.stop()) assert.equal(error ?? failure, undefined);
      const { stdout } = await runCli(['stack'], { TANDEM_ADMIN_SOCKET: path });
      assert.match(
        stdout,
        /^process 1 \(pid \d+\)\n {2}main thread\n(?: {4}\S.*\n)+ {2}worker \d+, /,
      );
    },
  );

  test('stack shows what a main thread stands still in', async (t) => {
    const path = freePath();
    const flags = ['--watchdog-timeout', '0', '--shutdown-grace', '1s', '--admin-socket', path];
    const { server, url } = await cli.serveFor(t, [service, ...flags]);
    void ask(url, { id: 1, method: 'block' });
    await logged(server, /the main thread stands still/);
    const [told] = await answers(path, 'stack');
    assert.ok(told !== undefined);
    assert.match((told.answer as Stacks).main, /^at .*service\.mjs:\d+/);
  });

  test(
    'log-level changes what is written, goes back by itself, and is told at any level',
    needs('uws'),
    async (t) => {
      const path = freePath();
      const flags = ['--access-log', '--processes', '2', '--admin-socket', path];
      const { server, url } = await cli.serveFor(t, [service, ...flags]);
      const writers = (): number => {
        const calls = logOf(server).filter(({ event }) => event === 'call');
        return new Set(calls.map(({ pid }) => pid)).size;
      };
      const order = ['log-level', 'silent', '--for', '3s', '--admin-socket', path];
      const { code, stdout } = await runCli(order);
      assert.deepEqual([code, stdout.includes('log level silent, for 3 s')], [0, true]);
      await pids(url, 2);
      await logged(server, /the log level is info again/);
      while (writers() < 2) await pids(url, 2);
      // The supervisor writes that it goes back, then tells its processes.
      const events = logOf(server).map(({ event }) => event);
      assert.ok(events.indexOf('call') > events.lastIndexOf('log-level'), events.join());
      const changes = logOf(server).filter(({ event }) => event === 'log-level');
      assert.deepEqual(
        changes.map(({ logLevel, forMs, msg }) => [logLevel, forMs, msg]),
        [
          ['silent', 3000, 'the log level is silent for 3 s: asked for by the admin socket'],
          ['info', undefined, 'the log level is info again'],
        ],
      );
    },
  );
});

function plainFile(): string {
  const path = join(cli.folder, 'plain');
  writeFileSync(path, '');
  return path;
}
