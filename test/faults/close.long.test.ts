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
  plan,
  plans,
  Service,
} from './plans.ts';

/** Threads of this process, as the system counts them. */
function threadCount(): number {
  return readdirSync('/proc/self/task').length;
}

/** The usual procedures in a module of which there can be another generation. */
const versionedModule = (t: TestContext) =>
  new ModuleFolder(t).writeRenewable(
    `import { Router } from 'tandem-rpc';
import { perform } from ${JSON.stringify(fixture('acts.ts'))};
const router = new Router();
router.rpc({ name: 'long', placement: 'worker' }, perform);
router.rpc({ name: 'in.long', placement: 'inline' }, perform);
export default router;`,
  );

describe('close()', () => {
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
