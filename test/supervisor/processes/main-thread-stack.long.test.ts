import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freePort } from '../../free-port.ts';
import { until } from '../../turns.ts';
import { CompiledCli, endWith, type LogLine, logged, logOf, type Started, service } from './cli.ts';
import { ask } from './load.ts';

/** A main thread that stands still: docs/operations.md, "What a thread is in". */

const cli = await CompiledCli.suite();
const says = /the main thread stands still/;

/** In TypeScript: its lines are known by its source map alone. */
const module = join(cli.folder, 'still.ts');
const source = `import { existsSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { Router } from 'tandem-rpc';

interface Held {
  readonly path: string;
}

const router = new Router();

function holdUntil({ path }: Held): boolean {
  while (!existsSync(path)); // here
  return true;
}
router.rpc({ name: 'hold', placement: 'inline' }, async (held: Held) => holdUntil(held));
router.rpc({ name: 'holdLater', placement: 'inline' }, async (held: Held) => {
  await new Promise((resolve) => setImmediate(resolve));
  return holdUntil(held);
});
router.rpc({ name: 'sleep', placement: 'inline' }, async ({ path }: Held) => {
  // It ends with the folder, too, which a test takes away behind it.
  const wait = 'until [ -e "$0" ] || [ ! -d "$(dirname "$0")" ]; do sleep 0.1; done';
  execFileSync('sh', ['-c', wait, path]);
});
export default router;
`;
const line = source.slice(0, source.indexOf('// here')).split('\n').length;
writeFileSync(module, source);

for (const flags of [['--supervisor'], ['--no-supervisor']])
  describe(`a main thread that stands still, ${flags.join()}`, () => {
    for (const method of ['hold', 'holdLater'])
      test(`is logged with its stack, while it does: ${method}`, async (t) => {
        const { server, url } = await cli.serveFor(t, [module, ...flags]);
        const path = join(cli.folder, `${method}${flags.join()}`);
        const reply = ask(url, { id: 1, method, params: { path } });
        const [told] = (await logged(server, says)) as [LogLine];
        // It still stands there.
        writeFileSync(path, '');
        await reply;
        const { level, event, ms, detail } = told;
        assert.deepEqual([level, event, told.method], ['warn', 'main-thread-stack', method]);
        assert.ok(Number(ms) >= 850, String(ms));
        const frames = String(detail).split('\n');
        const own = frames.findIndex((frame) => frame.startsWith('at holdUntil '));
        assert.match(frames[own] ?? '', new RegExp(`still\\.ts:${line}:`));
        assert.equal(frames.length, own + 2, 'the handler is the last one');
        assert.equal(logOf(server).filter(({ event }) => event === 'main-thread-stack').length, 1);
      });
  });

/** The line about a main thread that stays in native code until the line is there. */
async function toldOfSleep({ server, url }: Started): Promise<LogLine | undefined> {
  const path = join(cli.folder, `awake-${server.child.pid}`);
  const reply = ask(url, { id: 1, method: 'sleep', params: { path } });
  const [told] = await logged(server, says);
  writeFileSync(path, '');
  await reply;
  return told;
}

test('native code is told as such', async (t) => {
  const told = await toldOfSleep(await cli.serveFor(t, [module]));
  const doing = process.platform === 'linux' ? ', waiting' : '';
  assert.equal(told?.detail, `no stack: in native code${doing}`);
});

test('without the right to use the inspector that is told, and the process goes on', async (t) => {
  const isStable = process.allowedNodeEnvironmentFlags.has('--permission');
  const rights = ['fs-read=*', 'fs-write=*', 'worker', 'child-process', 'addons', 'net'];
  const flags = [isStable ? '--permission' : '--experimental-permission']
    .concat(rights.map((right) => `--allow-${right}`))
    .filter((flag) => process.allowedNodeEnvironmentFlags.has(flag.replace(/=.*/, '')));
  const started = await cli.serveFor(t, [module], { NODE_OPTIONS: flags.join(' ') });
  const told = await toldOfSleep(started);
  assert.equal(told?.detail, 'no stack: this process may not use the inspector');
  assert.ok(!logOf(started.server).some(({ event }) => event === 'process-lost'));
});

test('the stack is in the log twice before the supervisor kills the process', async (t) => {
  const { server, url } = await cli.serveFor(t, [service, '--watchdog-timeout', '4s']);
  await ask(url, { id: 1, method: 'blockLater' });
  await logged(server, /it is killed/);
  const events = logOf(server).map(({ event }) => event);
  const before = events.slice(0, events.indexOf('process-stuck'));
  assert.deepEqual(
    before.filter((event) => event === 'main-thread-stack'),
    ['main-thread-stack', 'main-thread-stack'],
  );
});

test('at the level error nothing is written', async (t) => {
  const port = await freePort();
  const flags = [service, '--watchdog-timeout', '2s', '--log-level', 'error', '--port', `${port}`];
  const server = cli.run(flags);
  endWith(t, server);
  const url = `http://127.0.0.1:${port}/rpc`;
  // No line says that it serves.
  await until(
    async () => (await fetch(new URL('/readyz', url)).catch(() => undefined))?.ok === true,
  );
  await ask(url, { id: 1, method: 'block' });
  await logged(server, /it is killed/);
  assert.ok(!server.stderr.includes('main-thread-stack'));
});
