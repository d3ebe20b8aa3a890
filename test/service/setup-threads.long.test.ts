import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { createCaller, type Router } from '../../src/index.ts';
import { inReverse, listenTo, makeApp, TestService } from '../harness.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';
import { Journal } from './journal.ts';

/** Procedures by what decides their threads, each in a module of its own. */
const kinds = {
  inline: "router.rpc({ name: 'inline', placement: 'inline' }, () => 1);",
  worker: "router.rpc({ name: 'worker', placement: 'worker' }, async () => 1);",
  asynchronous: "router.rpc({ name: 'asynchronous' }, async () => 1);",
  synchronous: "router.rpc({ name: 'synchronous' }, () => 1);",
  stream: "router.rpc({ name: 'stream' }, async function* () { yield 1; });",
  'stream-sync': "router.rpc({ name: 'stream-sync' }, function* () { yield 1; });",
  group: "router.rpc({ name: 'group', group: 'heavy' }, async (_, { state }) => state);",
  mixed: `router.rpc({ name: 'mixed.here', placement: 'inline' }, () => 1);
    router.rpc({ name: 'mixed.heavy', group: 'heavy' }, () => 1);
    router.rpc({ name: 'mixed.die', group: 'heavy' }, () => process.reallyExit(1));`,
  empty: '',
} as const;

/** Where `setup` of each must run. An asynchronous one may move to the workers if it blocks the main thread. */
const wanted: Readonly<Record<keyof typeof kinds, readonly string[]>> = {
  inline: ['main'],
  worker: ['worker', 'worker'],
  asynchronous: ['main', 'worker', 'worker'],
  synchronous: ['worker', 'worker'],
  stream: ['main'],
  'stream-sync': ['worker', 'worker'],
  group: ['heavy', 'heavy'],
  mixed: ['heavy', 'heavy', 'main'],
  empty: ['heavy', 'heavy', 'main', 'worker', 'worker'],
};

const crew = { workers: 1, spareWorkers: 1 };

class Setups {
  readonly folder: ModuleFolder;
  readonly journal = new Journal();
  readonly modules: string[];

  constructor(t: TestContext, names: readonly (keyof typeof kinds)[]) {
    this.folder = new ModuleFolder(t);
    t.after(() => this.journal.remove());
    this.folder.write('version.mjs', 'export const version = 1;');
    this.modules = names.map((name) =>
      this.folder.write(
        `${name}.mjs`,
        `import { appendFileSync, existsSync } from 'node:fs';
         import { Router } from 'tandem-rpc';
         import './version.mjs';
         const router = new Router();
         ${kinds[name]}
         export default router;
         const note = (text) => appendFileSync(${JSON.stringify(this.journal.file)}, text + '\\n');
         export async function setup({ group, isMainThread, ...others }) {
           if (Object.keys(others).length > 0) throw new Error('more than it should get');
           const where = isMainThread ? 'main' : (group ?? 'worker');
           note('begin ${name} ' + where);
           while (existsSync(new URL('hold', import.meta.url))) await new Promise((next) => setTimeout(next, 1));
           note('setup ${name} ' + where);
           return where;
         }
         export const teardown = (state) => note('teardown ${name} ' + state);`,
      ),
    );
  }

  /** The threads in which a hook of a module has run, sorted. */
  threads(hook: 'setup' | 'teardown', name: string): string[] {
    const prefix = `${hook} ${name} `;
    const lines = this.journal.lines().filter((line) => line.startsWith(prefix));
    return lines.map((line) => line.slice(prefix.length)).sort();
  }
}

const options = { ...crew, groups: { heavy: crew } };

test('setup() and teardown() run in each thread that may run a procedure of the module, and in no other', async (t) => {
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  const setups = new Setups(t, names);
  const { dispatcher } = TestService.make(t, { ...options, modules: setups.modules });
  const spares = (): number => {
    const { pool, groups } = dispatcher.stats();
    return (pool?.spares ?? 0) + (groups.heavy?.spares ?? 0);
  };
  await dispatcher.ready();
  await until(() => spares() === 2);
  const all = (hook: 'setup' | 'teardown') =>
    Object.fromEntries(names.map((name) => [name, setups.threads(hook, name)]));
  assert.deepEqual(all('setup'), wanted);

  // The replacement of a lost worker is set up as that worker was.
  await dispatcher.dispatch({ id: 1, method: 'mixed.die' });
  await until(() => spares() === 2 && dispatcher.stats().groups.heavy?.workers.length === 1);
  const heavies = names.filter((name) => wanted[name].includes('heavy'));
  for (const name of heavies)
    assert.equal(setups.threads('setup', name).length, wanted[name].length + 1, name);

  setups.journal.clear();
  setups.folder.write('version.mjs', 'export const version = 2;');
  assert.equal(await dispatcher.reload(), true);
  await until(() => spares() === 2);
  assert.deepEqual(all('setup'), wanted);
  await until(() => names.every((name) => all('teardown')[name]?.length === wanted[name].length));
  setups.journal.clear();
  await dispatcher.close();
  assert.deepEqual(all('teardown'), wanted);
});

test('/readyz waits for the setup() of the workers of a group', async (t) => {
  const setups = new Setups(t, ['group']);
  const hold = setups.folder.write('hold', '');
  const own = inReverse(t);
  const { app } = makeApp(own, { ...options, modules: setups.modules });
  own.after(() => rmSync(hold, { force: true }));
  const port = await listenTo(own, app.nodeHandler());
  const readiness = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
  await setups.journal.until('begin group heavy');
  assert.equal(await readiness(), 503);
  rmSync(hold);
  const { dispatcher } = app;
  await dispatcher.ready();
  assert.ok(setups.threads('setup', 'group').includes('heavy'));
  assert.equal(await readiness(), 200);
});

test('a caller within the process that runs a procedure where setup() did not run is told so', async (t) => {
  const setups = new Setups(t, ['group']);
  const { dispatcher } = await TestService.start(t, { ...options, modules: setups.modules });
  const router = dispatcher.router as Router;
  const faults: string[] = [];
  const onFault = ({ detail }: { detail: string }): unknown => faults.push(detail);
  await assert.rejects(createCaller(router, { onFault }).call('group'), {
    code: -32603,
  });
  assert.match(faults[0] ?? '', /setup\(\) of \S*group\.mjs did not run in this thread/);
  const given = createCaller(router, { state: 'given' });
  assert.equal(await given.call('group'), 'given');
  const reply = await dispatcher.dispatch({ id: 1, method: 'group' });
  assert.deepEqual(reply, { jsonrpc: '2.0', id: 1, result: 'heavy' });
});
