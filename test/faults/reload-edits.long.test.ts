import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { TestService } from '../harness.ts';
import { ModuleFolder, routerModule } from '../modules/module-folder.ts';
import { patience } from '../patience.ts';
import { until } from '../turns.ts';
import { EditedModule } from './edited-module.ts';

const later = (ms: number, code: string): string => `setTimeout(() => { ${code} }, ${ms});`;
const onlyMain = (code: string): string => `if (isMainThread) ${code}`;
const place = /served\.mjs:11\)/;

describe('a bad edit is refused where it can do no harm: the old code serves on, the refusal names file and line', () => {
  const edits: readonly [what: string, code: string, says: readonly RegExp[]][] = [
    ['process.exit()', 'process.exit(1);', [/it called process\.exit\(1\)/, place]],
    ['a late process.exit()', later(20, 'process.exit(2);'), [/process\.exit\(2\)/, place]],
    [
      'the end of its thread',
      'process.reallyExit(3);',
      [/thread ended during loading .*served\.mjs/],
    ],
    ['a late throw', later(50, "throw new Error('late');"), [/it threw Error: late/, place]],
    ['an unhandled rejection', "Promise.reject(new Error('left'));", [/Error: left/, place]],
    ['a throw of nothing', later(0, 'throw null;'), [/it threw null/]],
    ['a top-level throw', 'null.member;', [/TypeError: .*member/, place]],
    ['a syntax error', 'const = 1;', [/syntax error/, place]],
    [
      'a setup() that fails in workers only',
      "export const setup = () => { if (!isMainThread) throw new Error('no database'); };",
      [/setup\(\) of .*served\.mjs failed: it threw Error: no database/, place],
    ],
    ['process.exit() on the main thread only', onlyMain('process.exit(4);'), [/exit\(4\)/, place]],
    [
      'process.exit() in setup() on the main thread only',
      `export const setup = () => { ${onlyMain('process.exit(5);')} };`,
      [/setup\(\) of .* failed: it called process\.exit\(5\)/, place],
    ],
    [
      'other procedures on the main thread',
      onlyMain('router.rpc(function extra() {});'),
      [/other procedures, or other middleware, in the main thread than in a worker/],
    ],
  ];

  test('one after another', async (t) => {
    const served = new EditedModule(t);
    await served.dispatcher.ready();
    for (const [what, code, says] of edits) {
      served.edit(2, code);
      const refusal = (await served.refusal()) ?? 'reloaded';
      for (const part of says) assert.match(refusal, part, what);
      assert.doesNotMatch(refusal, /\n/, what);
      assert.deepEqual(await served.versions(), [1, 1, 1], what);
    }
    served.edit(3);
    assert.equal(await served.dispatcher.reload(), true);
    assert.deepEqual(await served.versions(), [3, 3, 3]);
    assert.equal(await served.dispatcher.reload(), false);
  });

  test('memory without bound', async (t) => {
    const served = new EditedModule(t, { workerMemoryMb: 40 });
    await served.dispatcher.ready();
    // In large pieces: V8 may end the whole process where small ones fill the heap faster than it can end the thread.
    const piece = 'Array.from({ length: 100_000 }, () => 1.5)';
    served.edit(2, `const all = []; for (;;) all.push(${piece});`);
    assert.match((await served.refusal()) ?? '', /ended during loading .*served\.mjs: .*memory/);
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });
});

describe('a reload that hangs', () => {
  const hang = "writeFileSync(here('begun'), '');";
  const hangs: readonly [what: string, code: string][] = [
    ['a loop', `${hang} for (;;);`],
    ['a top-level await', `${hang} await new Promise(() => {});`],
    ['setup()', `export const setup = () => { ${hang} return new Promise(() => {}); };`],
    ['a top-level await on the main thread', onlyMain(`{ ${hang} await new Promise(() => {}); }`)],
  ];
  for (const [what, code] of hangs) {
    test(`${what}: the next reload takes its place, and both get its outcome`, async (t) => {
      const served = new EditedModule(t);
      await served.dispatcher.ready();
      served.edit(2, code);
      const hung = served.dispatcher.reload();
      await until(() => existsSync(served.file('begun')));
      served.edit(3);
      assert.deepEqual(await Promise.all([served.dispatcher.reload(), hung]), [true, true]);
      assert.deepEqual(await served.versions(), [3, 3, 3]);
    });
  }

  for (const [what, code] of hangs) {
    test(`${what}: close() does not wait for it, and calls are answered until then`, async (t) => {
      const served = new EditedModule(t);
      await served.dispatcher.ready();
      served.edit(2, code);
      const refused = assert.rejects(served.dispatcher.reload(), /closed/);
      await until(() => existsSync(served.file('begun')));
      assert.deepEqual(await served.versions(), [1, 1, 1]);
      await served.dispatcher.close();
      await refused;
    });
  }

  test('is given up after startTimeoutMs, with a line that says what hangs where', async (t) => {
    const served = new EditedModule(t, { startTimeoutMs: 15_000 });
    await served.dispatcher.ready();
    served.edit(2, 'export const setup = () => new Promise(() => {});');
    const refusal = (await served.refusal()) ?? '';
    assert.match(refusal, /after 15000 ms .*setup\(\) of .*served\.mjs had not ended/);
    assert.match(refusal, /startTimeoutMs/);
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });

  test('of code that loops while it is imported, the line names the place', async (t) => {
    const served = new EditedModule(t, { startTimeoutMs: 10_000 });
    await served.dispatcher.ready();
    served.edit(2, 'function countForEver() { for (;;); } countForEver();');
    const refusal = (await served.refusal()) ?? '';
    assert.match(
      refusal,
      /loading .*served\.mjs had not ended, at countForEver \(file:.*served\.mjs:\d+:\d+\): /,
    );
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });
});

describe('close()', () => {
  test('does not wait for a teardown() that hangs, and says so', async (t) => {
    const hung =
      'export const setup = () => 1; export const teardown = () => new Promise(() => {});';
    const served = new EditedModule(t, {}, hung);
    await served.dispatcher.ready();
    await served.dispatcher.close(0);
    await served.logged(/teardown\(\) of .*served\.mjs had not ended/);
    assert.ok(!served.lines.some(({ fields }) => fields.event === 'worker-lost'));
  });
});

describe('files that change while they are loaded', () => {
  const write = (version: string): string =>
    `writeFileSync(here('version.mjs'), 'export const version = ' + ${version} + ';')`;
  const onceIn = (thread: string): string =>
    `export const setup = () => { if (${thread} && version === 2) ${write('3')}; };`;

  test('between the main thread and its workers, at the start: all are loaded anew; put back, again', async (t) => {
    const served = new EditedModule(t);
    served.edit(2, onceIn('isMainThread'));
    await served.dispatcher.ready();
    assert.deepEqual(await served.versions(), [3, 3, 3]);
    assert.equal(await served.dispatcher.reload(), false);
    served.edit(1);
    assert.equal(await served.dispatcher.reload(), true);
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });

  for (const thread of ['isMainThread', '!isMainThread']) {
    test(`between the workers and the main thread, at a reload, where ${thread}: the same`, async (t) => {
      const served = new EditedModule(t, { workers: 2 });
      await served.dispatcher.ready();
      served.edit(2, onceIn(thread));
      assert.equal(await served.dispatcher.reload(), true);
      assert.deepEqual(await served.versions(), [3, 3, 3]);
      assert.equal(await served.dispatcher.reload(), false);
    });
  }

  test('again and again: the reload is refused, and names the file', async (t) => {
    const served = new EditedModule(t);
    await served.dispatcher.ready();
    served.edit(2, `export const setup = () => { if (!isMainThread) ${write('(version + 1)')}; };`);
    assert.match((await served.refusal()) ?? '', /version\.mjs changed while it was being loaded/);
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });
});

describe('a replacement of a lost worker never serves other code than the rest', () => {
  test('after an edit it is refused, with a line that says what to do; put back, the file is loaded again', async (t) => {
    const served = new EditedModule(t, { workers: 2 });
    await served.dispatcher.ready();
    served.edit(2);
    await served.killWorker();
    await served.logged(
      /version\.mjs has changed since it was loaded: reload the modules, or put it back/,
    );
    assert.deepEqual(await served.versions(), [1, 1, 1]);
    assert.equal(served.dispatcher.stats().pool?.workers.length, 1);
    served.edit(1);
    await until(() => served.dispatcher.stats().pool?.workers.length === 2);
    for (let i = 0; i < 4; i++) assert.deepEqual(await served.versions(), [1, 1, 1]);
    assert.equal(await served.dispatcher.reload(), false);
  });

  test('where none is left the service reloads by itself, other procedures too', async (t) => {
    const served = new EditedModule(t);
    await served.dispatcher.ready();
    served.edit(2, 'router.rpc(function extra() {});');
    await served.killWorker();
    await served.logged(/no worker with their old code is left: reloading/);
    await served.logged(/^reloaded/);
    assert.deepEqual(await served.versions(), [2, 2, 2]);
    assert.equal(await served.dispatcher.reload(), false);
  });

  test('what waits on the old code at a reload runs on the new one where no worker with the old is left', async (t) => {
    const hold = `const wait = new Int32Array(new SharedArrayBuffer(4));
router.rpc({ name: 'hold', placement: 'worker' }, () => {
  writeFileSync(here('held'), '');
  while (!existsSync(here('go'))) Atomics.wait(wait, 0, 0, 1);
  process.reallyExit(1);
});`;
    const served = new EditedModule(t, patience, hold);
    await served.dispatcher.ready();
    const held = served.dispatcher.dispatch({ id: 1, method: 'hold' });
    await until(() => existsSync(served.file('held')));
    const behind = served.dispatcher.dispatch({ id: 2, method: 'worker' });
    served.edit(2, hold);
    assert.equal(await served.dispatcher.reload(), true);
    served.folder.write('go', '');
    assert.equal(((await held) as { error: { code: number } }).error.code, -32002);
    assert.deepEqual(await behind, { jsonrpc: '2.0', id: 2, result: 2 });
  });

  test('where the edit can not be loaded it goes on trying, and comes back with a mended file', async (t) => {
    const served = new EditedModule(t);
    await served.dispatcher.ready();
    served.edit(2, 'process.exit(1);');
    await served.killWorker();
    await served.logged(/no worker is left .*process\.exit\(1\)/);
    served.edit(1);
    await until(() => served.dispatcher.stats().pool?.workers.length === 1);
    assert.deepEqual(await served.versions(), [1, 1, 1]);
  });
});

test('a link that leads to another release is a change', async (t) => {
  const folder = new ModuleFolder(t);
  for (const release of [1, 2])
    folder.write(`${release}/served.mjs`, routerModule('version', `${release}`));
  const link = join(folder.path, 'current');
  const module = join(link, 'served.mjs');
  const lead = (release: number): void => {
    rmSync(link, { force: true });
    symlinkSync(join(folder.path, `${release}`), link, 'junction');
  };
  lead(1);
  const { dispatcher } = TestService.make(t, { modules: [module] });
  const version = async (): Promise<unknown> => dispatcher.dispatch({ id: 0, method: 'version' });
  assert.deepEqual(await version(), { jsonrpc: '2.0', id: 0, result: 1 });
  lead(2);
  assert.equal(await dispatcher.reload(), true);
  assert.deepEqual(await version(), { jsonrpc: '2.0', id: 0, result: 2 });
});

test('maxConcurrency: the old and the new code of a reload share the bound', async (t) => {
  const code = `
const journal = here('journal').pathname;
router.rpc({ name: 'bounded', placement: 'worker', maxConcurrency: 1 }, async ({ text }) => {
  writeFileSync(journal, text + ' begins, ', { flag: 'a' });
  while (!existsSync(here('go'))) await new Promise((resolve) => setTimeout(resolve, 1));
  writeFileSync(journal, text + ' ends, ', { flag: 'a' });
  return version;
});`;
  const served = new EditedModule(t, {}, code);
  const { dispatcher, folder } = served;
  const journal = (): string => readFileSync(served.file('journal'), 'utf8');
  const call = (text: string) =>
    dispatcher.dispatch({ id: 1, method: 'bounded', params: { text } });
  await dispatcher.ready();
  const old = call('old');
  await until(() => existsSync(served.file('journal')));
  const waits = call('waits in the old');
  served.edit(2, code);
  assert.ok(await dispatcher.reload());
  const fresh = call('new');
  assert.deepEqual(await dispatcher.dispatch({ id: 1, method: 'worker' }), {
    jsonrpc: '2.0',
    id: 1,
    result: 2,
  });
  assert.equal(journal(), 'old begins, ');
  folder.write('go', '');
  const replies = (await Promise.all([old, waits, fresh])) as { result?: number }[];
  assert.deepEqual(
    replies.map(({ result }) => result),
    [1, 1, 2],
  );
  const names = ['old', 'waits in the old', 'new'];
  assert.equal(journal(), names.map((name) => `${name} begins, ${name} ends, `).join(''));
});
