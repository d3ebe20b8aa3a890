import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { StartupError } from '../../src/index.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';
import { assertOk, begun, fixture, gate, outcomes, plan, plans, Service } from './plans.ts';

interface Rig {
  readonly module: string;
  /** setup and teardown throw while these words are in the file. */
  readonly setFault: (text: string) => void;
  readonly renew: () => void;
  /** What has been done, `setup 1 on main`, in order. */
  readonly lines: () => string[];
  readonly count: (line: RegExp) => number;
}

/** A module that writes down its setups and teardowns: each line is one append. */
function rig(t: TestContext): Rig {
  const folder = new ModuleFolder(t);
  const journal = folder.write('journal', '');
  const fault = folder.write('fault', '');
  let version = 0;
  const renew = (): void => {
    folder.write('version.mjs', `export const version = ${++version};`);
  };
  renew();
  const module = folder.write(
    'stateful.mjs',
    `import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread, threadId } from 'node:worker_threads';
import { Router } from 'tandem-rpc';
import { perform } from ${JSON.stringify(fixture('acts.ts'))};
import { version } from './version.mjs';
const where = isMainThread ? 'main' : 'a worker';
let states = 0;
async function note(what) {
  await null;
  const fault = readFileSync(${JSON.stringify(fault)}, 'utf8');
  if (fault.includes(what) && fault.includes(where)) throw new Error(what + ' told to fail in ' + where);
  appendFileSync(${JSON.stringify(journal)}, what + ' ' + version + ' in ' + where + '\\n');
}
const router = new Router();
for (const name of ['act', 'heavy', 'long']) router.rpc({ name, placement: 'worker' }, perform);
router.rpc({ name: 'in.long', placement: 'inline' }, perform);
export default router;
export async function setup() {
  await note('setup');
  return { version, threadId, states: ++states };
}
export async function teardown(state) {
  if (state.version !== version || state.threadId !== threadId) throw new Error('the state of another');
  await note('teardown');
}
`,
  );
  const lines = (): string[] => readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  return {
    module,
    setFault: (text) => writeFileSync(fault, text),
    renew,
    lines,
    count: (pattern) => lines().filter((line) => pattern.test(line)).length,
  };
}

async function assertStates(service: Service, version: number): Promise<void> {
  const some = [
    ...plans(12, 'state', { method: 'long' }),
    ...plans(3, 'state', { method: 'in.long' }),
  ];
  for (const { outcome, result, thread, plan } of await service.sendAll(some)) {
    assert.equal(outcome, 'ok');
    const { state } = result as { state: unknown };
    assert.deepEqual(state, { version, threadId: thread, states: 1 }, plan.method);
  }
}

describe('setup() and teardown()', () => {
  for (const where of ['main', 'a worker']) {
    test(`a setup that fails in ${where} at a reload leaves the old generation and its state`, async (t) => {
      const { module, renew, setFault, count } = rig(t);
      const service = await Service.start(t, { modules: [module], workers: 1 });
      renew();
      setFault(`setup in ${where}`);
      await assert.rejects(service.dispatcher.reload(), (error: Error) => {
        assert.ok(error instanceof StartupError);
        assert.match(error.message, /setup\(\) of .*stateful\.mjs failed.*told to fail/);
        return true;
      });
      await assertStates(service, 1);
      // What was set up of the new one is torn down.
      assert.equal(count(/^setup 2/), count(/^teardown 2/));
      setFault('');
      assert.equal(await service.dispatcher.reload(), true);
      await assertStates(service, 2);
      await service.dispatcher.close();
    });

    test(`a teardown that fails in ${where} is written to the log, and the server goes on`, async (t) => {
      const { module, renew, setFault, count } = rig(t);
      const service = new Service({ modules: [module], workers: 1 });
      await service.dispatcher.ready();
      setFault(`teardown in ${where}`);
      renew();
      assert.equal(await service.dispatcher.reload(), true);
      const isNoted = (): boolean =>
        service.lines.some(({ fields }) => /told to fail/.test(String(fields.detail)));
      await until(isNoted);
      await until(() => count(/^teardown 1/) === 1);
      await assertStates(service, 2);
      assertOk(await service.sendAll(plans(20)));
      // At the end it is told to whoever closes; all else has ended by then.
      const closing = service.dispatcher.close();
      if (where === 'main') await assert.rejects(closing, /teardown\(\) of .*told to fail/);
      else await closing;
      assert.equal(service.dispatcher.stats().state, 'closed');
      assert.equal(count(/^teardown 2/), 1, 'the other one');
    });
  }

  test('a generation torn down twice at once is torn down once', async (t) => {
    const { module, renew, count } = rig(t);
    const service = await Service.start(t, { modules: [module], workers: 1 });
    const stuck = plan('wait', { method: 'long', gate: gate() });
    const lost = service.sendAll([stuck]);
    await begun(stuck);
    renew();
    assert.equal(await service.dispatcher.reload(), true);
    // Retired, and closed with the service before it has drained.
    await service.dispatcher.close(50);
    assert.deepEqual(outcomes(await lost), ['-32002 shutdown']);
    assert.deepEqual(
      ['main', 'a worker'].map((where) => count(new RegExp(`^teardown 1 in ${where}`))),
      [1, 1],
    );
  });
});
