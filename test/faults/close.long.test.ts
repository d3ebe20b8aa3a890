import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';
import {
  assertOk,
  assertRanOnce,
  begun,
  board,
  fixture,
  gate,
  outcomes,
  type Plan,
  plan,
  plans,
  runsOf,
  Service,
} from './plans.ts';

/** Threads of this process, as the system counts them. */
function threadCount(): number {
  return readdirSync('/proc/self/task').length;
}

/** The usual procedures in a module of which there can be another generation. */
function versionedModule(t: TestContext): { module: string; renew: () => void } {
  const folder = new ModuleFolder(t);
  let version = 0;
  const renew = (): void => {
    folder.write('version.mjs', `export default ${++version};`);
  };
  renew();
  const module = folder.write(
    'versioned.mjs',
    `import './version.mjs';
import { Router } from 'tandem-rpc';
import { perform } from ${JSON.stringify(fixture('acts.ts'))};
const router = new Router();
router.rpc({ name: 'long', placement: 'worker' }, perform);
router.rpc({ name: 'in.long', placement: 'inline' }, perform);
export default router;
`,
  );
  return { module, renew };
}

describe('close()', () => {
  test('under load with a full queue and no grace: every id is answered once; what ran is lost, what waited is cancelled and never runs', async (t) => {
    const service = await Service.start(t, { workers: 2, maxQueue: 300 });
    const never = gate();
    const held = plans(2, 'hold', { method: 'heavy', gate: never });
    const running = service.sendAll(held);
    for (const one of held) await begun(one);
    const waiting = plans(2, 'wait', { method: 'in.long', gate: never });
    const inline = service.sendAll(waiting);
    const queued = [...plans(100), ...plans(50, 'wait', { method: 'one', gate: never })];
    const batches = Array.from({ length: 30 }, () => plans(5));
    const answers = service.sendAll(queued);
    const batchAnswers = batches.map((some) => service.batch(some));
    const mixed = [
      plan('wait', { method: 'in.long', gate: never }),
      plan('echo'),
      plan('echo', { method: 'in.act' }),
    ];
    const mixedAnswer = service.batch(mixed);
    await until(() => service.pool.queued === 300);
    const closing = service.dispatcher.close(0);
    assert.equal(service.dispatcher.close(), closing, 'idempotent');
    assert.deepEqual(new Set(outcomes(await running)), new Set(['-32002 shutdown']));
    assert.deepEqual(new Set(outcomes(await inline)), new Set(['-32002 shutdown']));
    assert.deepEqual(new Set(outcomes(await answers)), new Set(['-32003']));
    for (const answer of batchAnswers) {
      assert.deepEqual(new Set(outcomes(await answer)), new Set(['-32003']));
    }
    assert.deepEqual(outcomes(await mixedAnswer), ['-32002 shutdown', '-32003', '-32003']);
    await closing;
    assert.equal(service.dispatcher.stats().state, 'closed');
    const late = plans(5);
    assert.deepEqual(new Set(outcomes(await service.sendAll(late))), new Set(['-32003']));
    const notRun = [...queued, ...batches.flat(), ...mixed.slice(1), ...late];
    assert.deepEqual(new Set(runsOf(notRun)), new Set([0]));
    assertRanOnce([...held, ...waiting]);
    assert.deepEqual(
      waiting.map(({ params }) => board.marks(params.n)),
      [1, 1],
      'signals aborted',
    );
    await service.dispatcher.close();
  });

  test('with time: everything that was accepted ends well, in both places', async (t) => {
    const service = await Service.start(t, { workers: 2 });
    const all: Plan[] = [];
    const add = (some: Plan[]): Plan[] => {
      all.push(...some);
      return some;
    };
    const answers = [
      service.sendAll(add(plans(300))),
      service.sendAll(add(plans(20, 'slow', { method: 'one' }))),
      service.sendAll(add(plans(20, 'later', { method: 'long' }))),
      service.sendAll(add(plans(20, 'later', { method: 'in.long' }))),
      ...Array.from({ length: 10 }, () =>
        service.batch(
          add([...plans(2, 'slow'), plan('later', { method: 'in.long' }), ...plans(150)]),
        ),
      ),
    ];
    await service.dispatcher.close();
    for (const answer of answers) assertOk(await answer);
    assertRanOnce(all);
  });

  test('while a thread is being killed: answers, and ends', async (t) => {
    const service = await Service.start(t, { workers: 1 });
    const culprit = plan('loop');
    const answer = service.batch([culprit, ...plans(3)]);
    await begun(culprit);
    await until(() => service.pool.kills === 1);
    await service.dispatcher.close();
    const [first, ...rest] = outcomes(await answer);
    assert.equal(first, '-32001');
    for (const outcome of rest) assert.ok(['ok', '-32003'].includes(outcome), outcome);
  });

  test('while it starts: ready() rejects, and no thread is left', async () => {
    const before = threadCount();
    const service = new Service({ workers: 2, spareWorkers: 1 });
    const ready = assert.rejects(service.dispatcher.ready(), /closed/);
    const closing = service.dispatcher.close();
    await ready;
    await closing;
    await until(() => threadCount() <= before);
  });

  test('while it reloads: the reload is refused or done, calls are answered, and no thread is left', async (t) => {
    const { module, renew } = versionedModule(t);
    const before = threadCount();
    const service = new Service({ modules: [module], workers: 2 });
    await service.dispatcher.ready();
    const some = plans(20, 'later', { method: 'long' });
    renew();
    const reload = service.dispatcher.reload().catch((error: Error) => error.message);
    const answers = service.sendAll(some);
    await service.dispatcher.close();
    assert.match(String(await reload), /closed|true/);
    assertOk(await answers);
    assertRanOnce(some);
    await until(() => threadCount() <= before);
  });

  test('ends a generation that was retired, too: its calls have the grace time and no more', async (t) => {
    const { module, renew } = versionedModule(t);
    const service = await Service.start(t, { modules: [module], workers: 1 });
    const open = gate();
    const never = gate();
    const finishing = ['long', 'in.long'].map((method) => plan('wait', { method, gate: open }));
    const stuck = ['long', 'in.long'].map((method) => plan('wait', { method, gate: never }));
    const finished = service.sendAll(finishing);
    const lost = service.sendAll(stuck);
    for (const one of [...finishing, ...stuck]) await begun(one);
    renew();
    assert.equal(await service.dispatcher.reload(), true);
    // Enough for those that may finish, on a busy machine too.
    const closing = service.dispatcher.close(3000);
    board.open(open);
    assertOk(await finished);
    // The calls' own limit is 30 s: it is the end of the grace time that answers them.
    assert.deepEqual(outcomes(await lost), ['-32002 shutdown', '-32002 shutdown']);
    await closing;
    assert.equal(service.dispatcher.stats().state, 'closed');
  });
});
