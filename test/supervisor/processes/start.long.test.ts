import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { urlOf } from '../../cli/process.ts';
import { callAt } from '../../post-json.ts';
import { until } from '../../turns.ts';
import { CompiledCli, endWith, logged, logOf, service } from './cli.ts';
import { pids } from './load.ts';

const cli = await CompiledCli.suite();

const free = ['--port', '0'];
const pair = ['--processes', '2'];

describe('a service that can not start ends with one line', () => {
  const mistakes: readonly [what: string, args: readonly string[], says: RegExp, code: number][] = [
    [
      'several processes without a supervisor',
      [service, ...free, ...pair, '--no-supervisor'],
      /option processes \(2\) needs the supervisor/,
      1,
    ],
    [
      'several processes on node:http',
      [service, ...free, ...pair, '--transport', 'node'],
      /option processes: transport node does not share a port/,
      1,
    ],
    ['a module that is not there', ['./none.mjs', ...free, ...pair], /none\.mjs/, 1],
    [
      'a module that ends the process',
      [service, ...free, ...pair],
      /it called process\.exit\(7\) \(.*service\.mjs:\d+\)/,
      1,
    ],
    [
      'a module that never ends loading',
      ['<endless>', ...free, '--start-timeout', '100ms'],
      // The machine may be too slow to come to the module.
      /endless\.mjs had not ended (?:.*after 100 ms|after 200 ms)/,
      1,
    ],
    [
      'hooks that never end loading',
      [service, ...free, '--hooks', '<endless>', '--start-timeout', '100ms'],
      /loading .*service\.mjs, .*endless\.mjs had not ended after 200 ms/,
      1,
    ],
    [
      'a host that is not here',
      [service, '--host', '192.0.2.1', ...pair],
      /no address 192\.0\.2\.1/,
      1,
    ],
  ];
  for (const [what, args, says, expected] of mistakes) {
    test(what, async (t) => {
      const broken = join(cli.folder, 'broken-at-start');
      writeFileSync(broken, '');
      const endless = join(cli.folder, 'endless.mjs');
      writeFileSync(endless, 'setInterval(() => {}, 1000);\nawait new Promise(() => {});\n');
      const server = cli.run(
        args.map((arg) => (arg === '<endless>' ? endless : arg)),
        what.includes('ends the process') ? { BROKEN: broken } : {},
      );
      endWith(t, server);
      const { code, stdout, stderr } = await server.exit;
      assert.match(stderr, /^tandem: [^\n]+\n$/);
      assert.match(stderr, says);
      assert.equal(stdout, '');
      assert.equal(code, expected);
    });
  }

  test('without a supervisor: modules or hooks that never end loading', async (t) => {
    const waits = join(cli.folder, 'waits.mjs');
    // Nothing but the limit keeps the process there.
    writeFileSync(waits, 'await new Promise(() => {});\n');
    for (const args of [[waits], [service, '--hooks', waits]]) {
      const alone = ['--no-supervisor', '--start-timeout', '100ms'];
      const server = cli.run([...args, ...free, ...alone]);
      endWith(t, server);
      const { code, stdout, stderr } = await server.exit;
      const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
      assert.equal(told.length, 1, stderr);
      assert.match(told[0] ?? '', /^tandem: (?:not ready|.* had not ended .*) after \d00 ms: /);
      assert.equal(stdout, '');
      assert.equal(code, 1);
    }
  });

  test('a port that another service has, shared or not', async (t) => {
    const alone = ['--no-supervisor'];
    for (const [args, rivals] of [
      [[], [[], alone]],
      [pair, [pair]],
    ] as const) {
      const { server: first, url } = await cli.serve([...free, ...args]);
      endWith(t, first);
      const { port } = new URL(url);
      for (const others of rivals) {
        const second = cli.run([service, '--port', port, ...others]);
        endWith(t, second);
        const { code, stdout, stderr } = await second.exit;
        const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
        assert.equal(told.length, 1, stderr);
        assert.match(told[0] ?? '', /^tandem: port \d+ on 127\.0\.0\.1 is in use: /);
        assert.equal(stdout, '');
        assert.equal(code, 1);
      }
      first.child.kill('SIGTERM');
      assert.equal((await first.exit).code, 0);
    }
  });
});

test('where another program takes the free port before the service listens, the service chooses another one', async (t) => {
  // The neighbour takes the first port that the supervisor lets go of.
  const neighbour = join(cli.folder, 'neighbour.mjs');
  writeFileSync(
    neighbour,
    `import net from 'node:net';
    const { close } = net.Server.prototype;
    if (process.send === undefined) net.Server.prototype.close = function (done) {
      net.Server.prototype.close = close;
      const { port } = this.address() ?? {};
      return close.call(this, (error) => {
        const taken = net.createServer().unref();
        taken.once('error', () => done?.(error));
        taken.listen(port, '127.0.0.1', () => done?.(error));
      });
    };`,
  );
  const { server, url } = await cli.serveFor(t, [service, ...free, ...pair], {
    NODE_OPTIONS: `--import "${pathToFileURL(neighbour).href}"`,
  });
  const [line] = await logged(server, /took the free port before the service listened/);
  const taken = /^port (\d+) on 127\.0\.0\.1 is in use/.exec(String(line?.detail))?.[1];
  assert.notEqual(new URL(url).port, taken);
  assert.equal((await pids(url, 2)).length, 2);
});

describe('a process that is killed before it is ready', () => {
  const source = `
    import { appendFileSync, readFileSync } from 'node:fs';
    import { isMainThread } from 'node:worker_threads';
    import { Router } from 'tandem-rpc';
    const { STARTS, HANGING } = process.env;
    if (isMainThread) {
      appendFileSync(STARTS, process.pid + '\\n');
      const nth = readFileSync(STARTS, 'utf8').split('\\n').length - 1;
      if (HANGING.split(',').includes(String(nth))) await new Promise((ever) => setInterval(ever, 2 ** 30));
    }
    const router = new Router();
    router.rpc(async function where() {
      return process.pid;
    });
    export default router;
  `;

  /** Starts a service of two processes; those starts in `nths` that hang are killed one by one. */
  async function startKilling(t: TestContext, nths: readonly number[]) {
    const path = join(cli.folder, 'hanging.mjs');
    writeFileSync(path, source);
    const STARTS = join(cli.folder, `starts-${nths.join('-')}`);
    const env = { STARTS, HANGING: nths.join(',') };
    const server = cli.run([path, ...free, ...pair], env);
    endWith(t, server);
    const started = () => (existsSync(STARTS) ? readFileSync(STARTS, 'utf8').split('\n') : []);
    for (const nth of nths) {
      // The last line is what stands behind the last line break.
      await until(() => started().length > nth);
      process.kill(Number(started()[nth - 1]), 'SIGKILL');
    }
    return server;
  }

  for (const [what, nth] of [
    ['the first', 1],
    ['another', 2],
  ] as const) {
    test(`is started again: ${what}`, async (t) => {
      const server = await startKilling(t, [nth]);
      const url = await urlOf(server);
      assert.equal((await pids(url, 2)).length, 2);
      const [line] = await logged(server, /ended before it was ready: it is started again/);
      assert.deepEqual([line?.signal, line?.process], ['SIGKILL', nth]);
      assert.deepEqual(
        logOf(server).filter(({ level }) => level === 'error'),
        [],
      );
    });
  }

  test('three times in a row ends the start with one line', async (t) => {
    const server = await startKilling(t, [2, 3, 4]);
    const { code, stdout, stderr } = await server.exit;
    const told = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    assert.deepEqual(told, ['tandem: a server process ended by SIGKILL before it was ready']);
    assert.equal(stdout, '');
    assert.equal(code, 1);
  });
});

test('a server gives large blocks of memory back, unless its environment says otherwise', async (t) => {
  const mallocOf = async (env: NodeJS.ProcessEnv): Promise<unknown> => {
    const { url } = await cli.serveFor(t, [service], env);
    return (await callAt(url, 'malloc')).result;
  };
  assert.deepEqual(await mallocOf({}), ['1048576', '4194304']);
  assert.deepEqual(await mallocOf({ MALLOC_MMAP_THRESHOLD_: '65536' }), ['65536', '4194304']);
});

test('a module sees the arguments of the command, with a supervisor and without', async (t) => {
  const module = join(cli.folder, 'arguments.mjs');
  writeFileSync(
    module,
    `import { Router } from '${pathToFileURL(join(cli.tree, 'src/index.js')).href}';
const router = new Router();
router.rpc({ name: 'args', placement: 'inline' }, () => process.argv.slice(2));
export default router;
`,
  );
  for (const others of [[], ['--no-supervisor']]) {
    const { server, url } = await cli.serveFor(t, [module, ...others]);
    const { result } = (await callAt(url, 'args')) as { result: string[] };
    assert.equal(result[0], 'serve');
    assert.deepEqual(result.slice(result.indexOf(module)), [module, ...others]);
    server.child.kill('SIGTERM');
    await server.exit;
  }
});

test('a command that ends at once leaves no server process', async () => {
  // Output that others inherit stays open as long as they do: the exit is seen when all of them have ended.
  for (const args of [
    ['--prot', '1'],
    [service, '--port', '80000'],
  ]) {
    const { code, stderr } = await cli.run(args).exit;
    assert.equal(code, 1);
    assert.match(stderr, /^tandem: [^\n]+\n$/);
  }
});
