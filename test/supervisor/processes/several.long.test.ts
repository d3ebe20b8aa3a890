import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { ModuleFolder } from '../../modules/module-folder.ts';
import { needs } from '../../servers.ts';
import { until } from '../../turns.ts';
import { CompiledCli, isAlive, logged, logOf, service } from './cli.ts';
import {
  ask,
  call,
  type Ended,
  failuresButResetsOf,
  failuresOf,
  Load,
  pids,
  pidsOf,
  wrongAnswer,
} from './load.ts';

const cli = await CompiledCli.suite();
const { folder } = cli;

const pair = ['--processes', '2'];

/** The text at `url`, by a connection of `agent`. */
async function read(url: URL, agent: Agent): Promise<string> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  return text(response);
}

describe('several processes', needs('uws'), () => {
  test('share one port, chosen where 0 was asked for, and are told of once', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, '--processes', '3']);
    assert.match(
      server.stderr,
      /\(uWebSockets\.js, 3 processes with 1 worker without an express worker \(no spare\) each, 3 threads in all, on \d+ cores?/,
    );
    assert.equal(server.stderr.match(/listens on/g)?.length, 1);
    assert.equal(server.stderr.match(/"returns-missing"/g)?.length, 1);
    const found = await pids(url, 3);
    assert.ok(!found.includes(server.child.pid ?? 0), 'the supervisor serves nothing');
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.exit;
    assert.equal(code, 0, stderr);
    assert.deepEqual(found.filter(isAlive), []);
  });

  test('one that is killed under load: the other answers, another takes its place, no answer is wrong', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair]);
    const before = await pids(url, 2);
    const [victim = 0, survivor = 0] = before;
    const load = new Load(url, 8);
    for (const pid of before) await load.next(({ result }) => result?.pid === pid, 10);
    process.kill(victim, 'SIGKILL');
    await until(() => !isAlive(victim));
    await load.next(({ result }) => result?.pid === survivor, 20);
    await load.next(({ result }) => result !== undefined && !before.includes(result.pid), 20);
    const ended = await load.stop();
    assert.deepEqual(ended.map(wrongAnswer).filter(Boolean), []);
    // What it held, and what was on its way to it; nobody else's.
    assert.deepEqual(failuresButResetsOf(ended), []);
    assert.equal(pidsOf(ended).length, 3);
    const [line] = await logged(server, /a server process ended/);
    assert.equal(line?.serverPid, victim);
    assert.equal(line?.signal, 'SIGKILL');
    assert.equal(line?.retryMs, 0);
    const [back] = await logged(server, /has taken over/);
    assert.equal(back?.process, line?.process);
  });

  test('SIGHUP under load reloads each in place: no connection fails, answers are old or new', async (t) => {
    const modules = new ModuleFolder(t);
    const write = (version: number): string =>
      modules.write(
        'versioned.mjs',
        `import { Router } from 'tandem-rpc';
const router = new Router();
const body = ({ n }) => ({ n, pid: process.pid, version: ${version} });
router.rpc({ name: 'inline', placement: 'inline' }, async (params) => body(params));
router.rpc({ name: 'pooled', placement: 'worker' }, body);
router.rpc(async function where() { return process.pid; });
export default router;
`,
      );
    const { server, url } = await cli.serveFor(t, [write(1), ...pair]);
    const before = await pids(url, 2);
    const load = new Load(url, 8);
    const versions = (): Set<unknown> =>
      new Set(load.ended.map(({ result }) => (result as { version?: number })?.version));
    await load.next(() => true, 50);
    assert.deepEqual(versions(), new Set([1]));
    write(2);
    server.child.kill('SIGHUP');
    await logged(server, /^reloaded/, 2);
    for (const pid of before) {
      await load.next(
        ({ result }) => result?.pid === pid && (result as { version?: number }).version === 2,
        10,
      );
    }
    const afterReload = load.ended.length + 16; // those on their way began before it
    await load.next(() => true, 40);
    const ended = await load.stop();
    assert.deepEqual(failuresOf(ended), []);
    assert.deepEqual(ended.map(wrongAnswer).filter(Boolean), []);
    assert.deepEqual(versions(), new Set([1, 2]));
    const last = ended
      .slice(afterReload)
      .map(({ result }) => (result as { version?: number }).version);
    assert.deepEqual(new Set(last), new Set([2]));
    assert.deepEqual(new Set(pidsOf(ended)), new Set(before));

    modules.write('versioned.mjs', 'export default router;');
    server.child.kill('SIGHUP');
    const [refused] = await logged(server, /not reloaded/);
    assert.match(refused?.msg ?? '', /the modules serve as they were: .*versioned\.mjs/);
    assert.equal(((await call(url, 'pooled', { n: 1 })) as { version: number }).version, 2);
    write(2);
    server.child.kill('SIGHUP');
    await logged(server, /not reloaded: nothing has changed/);
  });

  test('a second signal ends all of them at once', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair, '--shutdown-grace', '10m']);
    const before = await pids(url, 2);
    const lost = ask(url, { id: 1, method: 'forever' });
    await server.seen('stdout', /forever entered/);
    server.child.kill('SIGTERM');
    await server.seen('stderr', /draining/);
    server.child.kill('SIGTERM');
    assert.equal((await server.exit).code, 143);
    assert.ok('failure' in (await lost));
    await until(() => !before.some(isAlive));
  });

  test('end by themselves, and answer what they have, when the supervisor is killed', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair]);
    const before = await pids(url, 2);
    const path = join(folder, 'opened');
    rmSync(path, { force: true });
    const answer = ask(url, { id: 1, method: 'untilFile', params: { path } });
    await server.seen('stdout', /untilFile entered/);
    server.child.kill('SIGKILL');
    // The one without a call.
    await until(() => before.filter(isAlive).length < 2);
    writeFileSync(path, '');
    const reply = await answer;
    assert.ok('body' in reply && before.includes((reply.body as { result: number }).result));
    await until(() => !before.some(isAlive));
  });

  test('are watched as one: the figures of the console have the workers and the events of all', async (t) => {
    const { url } = await cli.serveFor(t, [service, ...pair, '--console']);
    type Rows = readonly { readonly process: string }[];
    const figures = async () => {
      const response = await fetch(new URL('/console/figures', url));
      return (await response.json()) as {
        readonly snapshots: Rows;
        readonly workers: Rows;
        readonly events: readonly { readonly process: string; readonly event: string }[];
      };
    };
    const processes = (rows: Rows): string[] =>
      [...new Set(rows.map(({ process }) => process))].sort();
    let shown = await figures();
    // On a busy machine a process may be left out: it has a second to answer.
    while (processes(shown.snapshots).length < 2) shown = await figures();
    const { snapshots, workers, events } = shown;
    assert.deepEqual(processes(snapshots), ['1', '2']);
    assert.deepEqual(processes(workers), ['1', '2']);
    assert.deepEqual(processes(events.filter(({ event }) => event === 'ready')), ['1', '2']);
  });

  test('are counted as one: a scrape of any has the calls of all, of those that were replaced too', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair]);
    const before = await pids(url, 2);
    /** By the connection of `agent`, which is to one process. */
    const inlineCalls = async (
      agent: Agent,
    ): Promise<{ count: number; processes: Set<string> }> => {
      const metrics = await read(new URL('/metrics', url), agent);
      const counts = metrics.matchAll(
        /^tandem_calls_total\{[^}]*procedure="inline"[^}]*\} (\d+)$/gm,
      );
      const labels = metrics.matchAll(/^tandem_requests_in_flight\{process="(\w+)"\}/gm);
      return {
        count: Array.from(counts, ([, count]) => Number(count)).reduce((a, b) => a + b, 0),
        processes: new Set(Array.from(labels, ([, name = '']) => name)),
      };
    };
    let calls = 0;
    /** A connection to each of the two. */
    const connected = async (): Promise<Agent[]> => {
      const agents = new Map<number, Agent>();
      while (agents.size < 2) {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        t.after(() => agent.destroy());
        const answer = await ask(url, { id: 1, method: 'inline', params: { n: ++calls } }, agent);
        const { result } = ('body' in answer ? answer.body : {}) as Ended;
        assert.ok(result !== undefined);
        agents.set(result.pid, agent);
      }
      return [...agents.values()];
    };
    const assertCounted = async (agents: readonly Agent[]): Promise<void> => {
      for (const agent of agents) {
        let counted = await inlineCalls(agent);
        // On a busy machine a scrape may have older figures of the other process: it has a second to answer.
        while (counted.count < calls || counted.processes.size < 2) {
          counted = await inlineCalls(agent);
        }
        assert.deepEqual(counted, { count: calls, processes: new Set(['1', '2']) });
      }
    };
    await assertCounted(await connected());
    server.child.kill('SIGUSR2');
    await logged(server, /has taken over/, 2);
    await until(() => !before.some(isAlive));
    await assertCounted(await connected());
    const reasons = logOf(server).filter(({ msg }) => /being replaced/.test(msg));
    assert.deepEqual(
      reasons.map(({ reason }) => reason),
      ['asked', 'asked'],
    );
  });

  test('share a port of their own for operators, too', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair, '--metrics-port', '0']);
    const lines = await logged(server, /^ready$/, 2);
    const [own, ...others] = new Set(lines.map(({ metricsUrl }) => metricsUrl as string));
    assert.ok(own !== undefined && new URL(own).port !== new URL(url).port);
    assert.deepEqual(others, []);
    const labels = async (): Promise<(string | undefined)[]> => {
      const metrics = await (await fetch(own)).text();
      const found = metrics.matchAll(/^tandem_requests_in_flight\{process="(\w+)"\}/gm);
      return Array.from(found, ([, name]) => name);
    };
    let shown = await labels();
    // On a busy machine a process may be left out: it has a second to answer.
    while (shown.length < 2) shown = await labels();
    assert.deepEqual(shown, ['1', '2']);
  });

  test('one that is told to end by itself drains, and another takes its place', async (t) => {
    const { server, url } = await cli.serveFor(t, [service, ...pair]);
    const before = await pids(url, 2);
    process.kill(before[0] ?? 0, 'SIGTERM');
    await logged(server, /has taken over/);
    const after = await pids(url, 2);
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      [before[1]],
    );
  });
});
