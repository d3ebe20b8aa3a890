import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../../turns.ts';
import { CompiledCli, isAlive, logged, logOf, service } from './cli.ts';
import { ask, call, failuresButResetsOf, Load, where, wrongAnswer } from './load.ts';
import { pidNow } from './recovery.ts';
import { stickThread } from './stick-thread.ts';

const cli = await CompiledCli.suite();
const { folder } = cli;

/** What the console tells of the supervisor, the oldest first. */
async function told(url: string): Promise<readonly (readonly [string, string])[]> {
  const response = await fetch(new URL('/console/figures', url));
  const { events } = (await response.json()) as {
    events: readonly { process: string; event: string; text: string }[];
  };
  return events
    .filter(({ process }) => process === 'supervisor')
    .map(({ event, text }) => [event, text]);
}

describe('the supervisor', () => {
  test('keeps one process, too: what no call may end, the next process ends', async (t) => {
    const { server, url } = await cli.serveFor(t, [service]);
    const first = await where(url);
    assert.notEqual(first, server.child.pid);
    assert.match(
      server.stderr,
      /\((?:uWebSockets\.js|node:http), 1 worker without an express worker \(no spare\), 1 thread in all, on \d+ cores?/,
    );
    await ask(url, { id: 1, method: 'crash' });
    await logged(server, /has taken over/);
    assert.match(server.stderr, /ECONNREFUSED.*uncaught exception/);
    assert.notEqual(await where(url), first);
    const [line] = await logged(server, /a server process ended/);
    assert.equal(line?.code, 1);
    assert.match(String(line?.detail), /outside of any call it threw Error: .*ECONNREFUSED/);
    assert.equal(line?.process, undefined, 'numbered only where there are several');
  });

  test('goes on with a process of another version, after an update in place; that one has its own metrics', async (t) => {
    // Beside the copy of this run, so that it finds the same packages.
    const tree = mkdtempSync(join(dirname(cli.tree), 'test-updated-'));
    t.after(() => rmSync(tree, { recursive: true }));
    for (const name of ['src', 'workers', 'node_modules', 'package.json'])
      cpSync(join(cli.tree, name), join(tree, name), { recursive: true });
    const { server, url } = await new CompiledCli(tree).serveFor(t, [service]);
    const first = await where(url);
    const manifest = join(tree, 'package.json');
    const { version, ...others } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      version: string;
    };
    writeFileSync(manifest, JSON.stringify({ ...others, version: '99.0.0' }));
    process.kill(first, 'SIGKILL');
    const [line] = await logged(server, /this process is of another version than its supervisor/);
    assert.deepEqual([line?.version, line?.supervisor], ['99.0.0', version]);
    await logged(server, /has taken over/);
    const second = await where(url);
    assert.notEqual(second, first);
    const metrics = await (await fetch(new URL('/metrics', url))).text();
    assert.match(metrics, /^tandem_calls_total\{.*procedure="where".*\} 1$/m);
    // The two understand each other in all else.
    server.child.kill('SIGHUP');
    await logged(server, /not reloaded: nothing has changed/);
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 0);
  });

  test('kills a process whose main thread is stuck, and starts another', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--watchdog-timeout', '2s']);
    const first = await where(url);
    const lost = ask(url, { id: 1, method: 'block' });
    await server.seen('stdout', /block entered/);
    await logged(server, /has taken over/);
    assert.ok('failure' in (await lost));
    const [stuck, end] = logOf(server).filter(({ level }) => level === 'error');
    const expected = ['process-stuck', first, 'block'];
    assert.deepEqual([stuck?.event, stuck?.serverPid, stuck?.method], expected);
    assert.deepEqual([end?.event, end?.signal, end?.method], ['process-lost', 'SIGKILL', 'block']);
    assert.match(String(end?.detail), /its main thread was stuck for 2000 ms/);
    assert.ok(!isAlive(first));
    // A machine that is busy may make the next process look stuck as well: then nobody is there for a moment.
    assert.notEqual(await pidNow(url), first);
    // The console tells of it, too.
    assert.deepEqual((await told(url)).slice(0, 3), [
      [
        'process-stuck',
        'a server process does not answer: it is killed; it was in block · method: block',
      ],
      [
        'process-lost',
        'a server process ended: another takes its place; it was in block · method: block · signal: SIGKILL · retryMs: 0',
      ],
      ['process-replaced', 'a server process has taken over'],
    ]);
  });

  test('names the calls under way if the main thread is stuck behind an await', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--watchdog-timeout', '2s']);
    void ask(url, { id: 1, method: 'forever' });
    await server.seen('stdout', /forever entered/);
    void ask(url, { id: 1, method: 'blockLater' });
    const [end] = await logged(server, /a server process ended/);
    assert.deepEqual(end?.methods, ['forever', 'blockLater']);
    assert.match(String(end?.msg), /; under way there: forever, blockLater$/);
  });

  test('names the procedure on the main thread if the process dies of memory', async (t) => {
    const { server, url } = await cli.serveFor(t, [service], {
      NODE_OPTIONS: '--max-old-space-size=100',
    });
    void ask(url, { id: 1, method: 'exhaust' });
    const [end] = await logged(server, /a server process ended/);
    assert.deepEqual([end?.signal, end?.method], ['SIGABRT', 'exhaust']);
    assert.match(String(end?.msg), /; it was in exhaust$/);
  });

  for (const [method, code, who] of [
    ['exit', 3, 'it was in exit'],
    ['exitLater', 4, 'under way there: exitLater'],
  ] as const) {
    test(`names the procedure, file and line of an inline process.exit: ${method}`, async (t) => {
      const { server, url } = await cli.serveFor(t, [service]);
      void ask(url, { id: 1, method });
      const [end] = await logged(server, /a server process ended/);
      const told = new RegExp(
        `it called process\\.exit\\(${code}\\) \\(.*service\\.mjs:\\d+\\); ${who}$`,
      );
      assert.equal(end?.code, code);
      assert.match(String(end?.detail), told);
      const exits = logOf(server).filter(({ event }) => event === 'process-exit');
      assert.deepEqual(
        exits.map((line) => [line.method, line.code]),
        [[method, code]],
      );
      assert.match(String(exits[0]?.msg), told);
      assert.match(String(exits[0]?.detail), /at endProcess \(/);
    });
  }

  test('names nobody when the service ends as it was told to', async (t) => {
    const { server, url } = await cli.serveFor(t, [service]);
    await where(url);
    server.child.kill('SIGTERM');
    const { code } = await server.exit;
    assert.equal(code, 0);
    assert.ok(!logOf(server).some(({ event }) => event === 'process-exit'));
  });

  test('waits longer and longer where a process can not be started again, and goes on trying', async (t) => {
    const BROKEN = join(folder, 'broken');
    const { server, url } = await cli.serveFor(t, [service], { BROKEN });
    const first = await where(url);
    writeFileSync(BROKEN, '');
    process.kill(first, 'SIGKILL');
    const lost = () => logOf(server).filter(({ event }) => event === 'process-lost');
    const last = () => lost().findIndex(({ retryMs }) => retryMs === 200);
    await until(() => last() !== -1);
    const ends = lost().slice(0, last() + 1);
    // Before those five, where a busy machine took 10 s for a start: then the waits begin anew.
    assert.deepEqual(
      ends.slice(-5).map(({ retryMs }) => retryMs),
      [0, 0, 0, 100, 200],
    );
    assert.equal(ends[0]?.signal, 'SIGKILL');
    for (const { detail } of ends.slice(1)) {
      assert.match(String(detail), /it called process\.exit\(7\) \(.*service\.mjs:\d+\)/);
    }
    rmSync(BROKEN);
    await logged(server, /has taken over/);
    assert.notEqual(await where(url), first);
    const crashes = (await told(url)).filter(([event]) => event === 'process-lost');
    assert.match(crashes[0]?.[1] ?? '', /· signal: SIGKILL · retryMs: 0$/);
    assert.match(crashes[ends.length - 1]?.[1] ?? '', /· code: 1 · retryMs: 200$/);
  });

  test('replaces a process with stuck threads: the next is ready before the old one ends', async (t) => {
    const { server, url } = await cli.serveFor(t, [service]);
    const first = await where(url);
    const load = new Load(url, 4);
    const paths = Array.from({ length: 8 }, (_, i) => join(folder, `let-go-${i}`));
    t.after(() => {
      for (const path of paths) writeFileSync(path, '');
    });
    for (const path of paths) await stickThread(url, path);
    await load.next(({ result }) => result !== undefined && result.pid !== first, 20);
    // Although its threads are not let go.
    await until(() => !isAlive(first));
    const ended = await load.stop();
    assert.deepEqual(ended.map(wrongAnswer).filter(Boolean), []);
    // A connection that waited to be accepted may be reset; there was always somebody to connect to.
    assert.deepEqual(failuresButResetsOf(ended), []);
    const messages = logOf(server).map(({ msg }) => msg);
    const [begun, ready] = [/being replaced/, /taken over/].map((one) =>
      messages.findIndex((msg) => one.test(msg)),
    );
    assert.ok(begun !== -1 && (ready ?? -1) > (begun ?? 0), messages.join('\n'));
    assert.equal(logOf(server).find(({ msg }) => /replaced/.test(msg))?.reason, 'zombies');
  });

  test('replaces a process above its memory bound', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--max-process-mb', '300']);
    const first = await where(url);
    assert.equal(await call(url, 'hold', { mb: 300 }), first);
    await logged(server, /has taken over/);
    // Both listen until the first is told to go: a connection may come to either.
    while ((await where(url)) === first);
    const line = logOf(server).find(({ msg }) => /being replaced/.test(msg));
    assert.equal(line?.reason, 'memory');
    assert.ok((line?.rssMb as number) > 300);
  });

  test('on node:http replaces a process after its end: the port is its own', async (t) => {
    const { server, url } = await cli.serveFor(t, [
      service,
      '--transport',
      'node',
      '--max-process-mb',
      '400',
    ]);
    const first = await where(url);
    const agent = new Agent({ keepAlive: true });
    await ask(url, { id: 1, method: 'hold', params: { mb: 400 } }, agent);
    await logged(server, /has taken over/);
    agent.destroy();
    assert.notEqual(await where(url), first);
    assert.equal(logOf(server).filter(({ level }) => level === 'error').length, 0, server.stderr);
  });

  test('is left out with --no-supervisor: the process is the server, and its end is the end', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--no-supervisor']);
    assert.equal(await where(url), server.child.pid);
    await ask(url, { id: 1, method: 'crash' });
    const { code, stderr } = await server.exit;
    assert.equal(code, 1);
    assert.match(stderr, /uncaught exception/);
  });
});
