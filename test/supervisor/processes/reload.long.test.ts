import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ModuleFolder } from '../../modules/module-folder.ts';
import { until } from '../../turns.ts';
import { CompiledCli, isAlive, logged, logOf, type Started } from './cli.ts';
import { call, where } from './load.ts';

const cli = await CompiledCli.suite();

/** A module of one test, as it is edited. */
class Edited {
  readonly path: string;
  readonly #folder: ModuleFolder;

  constructor(t: { after(clean: () => void): void }) {
    this.#folder = new ModuleFolder(t);
    this.path = this.write(1);
  }

  /** @param code line 8 of the file */
  write(version: number, code = ''): string {
    return this.#folder.write(
      'edited.mjs',
      `import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { Router } from 'tandem-rpc';
const router = new Router();
router.rpc(async function where() { return process.pid; });
router.rpc({ name: 'inline', placement: 'inline' }, () => ${version});
router.rpc({ name: 'pooled', placement: 'worker' }, () => ${version});
${code}
export default router;
`,
    );
  }
}

async function assertServes({ url }: Started, version: number, pid: number): Promise<void> {
  assert.deepEqual(await Promise.all(['inline', 'pooled'].map((method) => call(url, method))), [
    version,
    version,
  ]);
  assert.equal(await where(url), pid, 'the same process');
}

const begun = "writeSync(1, 'begun\\n');";
const hang = `${begun} await new Promise(() => {});`;
const mainOnly = (code: string): string => `if (isMainThread) { ${code} }`;

describe('a bad edit and SIGHUP', () => {
  const edits: readonly [what: string, code: string, says: RegExp][] = [
    ['process.exit()', 'process.exit(1);', /it called process\.exit\(1\) \(.*edited\.mjs:8\)/],
    ['a late throw', "setTimeout(() => { throw new Error('late'); }, 50);", /late.*edited\.mjs:8/],
    ['process.exit() on the main thread', mainOnly('process.exit(2);'), /exit\(2\).*edited\.mjs:8/],
  ];
  for (const supervised of [true, false]) {
    test(`the process serves on${supervised ? '' : ', without a supervisor too'}, and the mended file is loaded`, async (t) => {
      const edited = new Edited(t);
      const args = supervised ? [edited.path] : [edited.path, '--no-supervisor'];
      const started = await cli.serveFor(t, args);
      const { server, url } = started;
      const pid = await where(url);
      for (const [i, [what, code, says]] of edits.entries()) {
        edited.write(2, code);
        server.child.kill('SIGHUP');
        const refused = (
          await logged(server, /not reloaded, the modules serve as they were/, i + 1)
        )[i];
        assert.match(refused?.msg ?? '', says, what);
        await assertServes(started, 1, pid);
      }
      edited.write(3);
      server.child.kill('SIGHUP');
      await logged(server, /^reloaded/);
      await assertServes(started, 3, pid);
      server.child.kill('SIGTERM');
      assert.equal((await server.exit).code, 0);
    });
  }

  test('what throws later than it is watched is a line with its place, and the process goes on', async (t) => {
    const edited = new Edited(t);
    const started = await cli.serveFor(t, [edited.path]);
    const pid = await where(started.url);
    edited.write(2, mainOnly("setTimeout(() => { throw new Error('much later'); }, 400);"));
    started.server.child.kill('SIGHUP');
    const [line] = await logged(started.server, /a procedure module failed/);
    assert.match(line?.msg ?? '', /much later \(.*edited\.mjs:8\); the process goes on/);
    // On a busy machine the reload may end after it.
    await logged(started.server, /^reloaded/);
    await assertServes(started, 2, pid);
  });
});

describe('a reload that hangs', () => {
  for (const [what, code] of [
    ['a loop', `${begun} for (;;);`],
    ['a top-level await on the main thread', mainOnly(hang)],
  ] as const) {
    test(`${what}: the mended file is loaded at the next SIGHUP`, async (t) => {
      const edited = new Edited(t);
      const started = await cli.serveFor(t, [edited.path]);
      const { server, url } = started;
      const pid = await where(url);
      edited.write(2, code);
      server.child.kill('SIGHUP');
      await server.seen('stdout', /begun/);
      await assertServes(started, 1, pid);
      edited.write(3);
      server.child.kill('SIGHUP');
      await logged(server, /^reloaded/);
      assert.equal(logOf(server).filter(({ event }) => event === 'reload-superseded').length, 1);
      await assertServes(started, 3, pid);
    });
  }

  test('SIGUSR2 replaces the process all the same', async (t) => {
    const edited = new Edited(t);
    const { server, url } = await cli.serveFor(t, [edited.path]);
    const pid = await where(url);
    edited.write(2, hang);
    server.child.kill('SIGHUP');
    await server.seen('stdout', /begun/);
    edited.write(3);
    server.child.kill('SIGUSR2');
    await logged(server, /has taken over/);
    // Until it has closed its listener, the old process may still take a connection.
    await until(() => !isAlive(pid));
    assert.notEqual(await where(url), pid);
    assert.equal(await call(url, 'pooled'), 3);
  });

  test('SIGTERM ends the service in good order', async (t) => {
    for (const alone of [[], ['--no-supervisor']]) {
      const edited = new Edited(t);
      const { server } = await cli.serveFor(t, [edited.path, ...alone]);
      edited.write(2, hang);
      server.child.kill('SIGHUP');
      await server.seen('stdout', /begun/);
      server.child.kill('SIGTERM');
      const { code, stderr } = await server.exit;
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stderr, /did not end as it was told to/);
    }
  });
});

describe('a process that starts while a broken file lies on disk', () => {
  const broken = 'process.exit(1);';
  const says = /it called process\.exit\(1\) \(.*edited\.mjs:8\)/;

  test('as a replacement: the old one serves on, and the log says why', async (t) => {
    const edited = new Edited(t);
    const started = await cli.serveFor(t, [edited.path]);
    const pid = await where(started.url);
    edited.write(2, broken);
    started.server.child.kill('SIGUSR2');
    const [line] = await logged(started.server, /could not be replaced yet: the old one serves on/);
    assert.match(String(line?.detail), says);
    await assertServes(started, 1, pid);
  });

  test('after a crash: it is tried again and again, each time the log says why, until the file is mended', async (t) => {
    const edited = new Edited(t);
    const { server, url } = await cli.serveFor(t, [edited.path]);
    const pid = await where(url);
    edited.write(2, broken);
    process.kill(pid, 'SIGKILL');
    const ends = await logged(server, /a server process ended/, 4);
    for (const { detail } of ends.slice(1)) assert.match(String(detail), says);
    edited.write(3);
    await logged(server, /has taken over/);
    assert.equal(await call(url, 'pooled'), 3);
  });
});
