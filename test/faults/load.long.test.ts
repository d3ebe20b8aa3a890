import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ModuleFolder } from '../modules/module-folder.ts';
import { patience } from '../patience.ts';
import { until } from '../turns.ts';
import { assertOk, assertRanOnce, fixture, plan, plans, Service } from './plans.ts';

/** A module whose replicas do `fault` when they load while the file `broken` is there. */
function moduleThat(
  t: TestContext,
  fault: string,
): { module: string; break: () => void; mend: () => void } {
  const folder = new ModuleFolder(t);
  const broken = `${folder.path}/broken`;
  const module = folder.write(
    'faulty.mjs',
    `import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { Router, Type } from 'tandem-rpc';
import { perform } from ${JSON.stringify(fixture('acts.ts'))};
const router = new Router();
const isBroken = !isMainThread && existsSync(${JSON.stringify(broken)});
if (isBroken) { ${fault} }
for (const name of ['long', 'heavy']) router.rpc({ name, placement: 'worker' }, perform);
export default router;
`,
  );
  return {
    module,
    break: () => writeFileSync(broken, ''),
    mend: () => rmSync(broken),
  };
}

interface Fault {
  readonly what: string;
  readonly code: string;
  /** Failures to see before it is mended: enough of them show the back-off. */
  readonly failures: number;
}

const faults: readonly Fault[] = [
  {
    what: 'throws',
    code: "throw new Error('broken on purpose');",
    failures: 4,
  },
  {
    what: 'ends its thread',
    code: 'process.reallyExit(4);',
    failures: 2,
  },
  {
    what: 'waits for ever',
    code: 'await new Promise(() => setInterval(() => {}, 1000));',
    failures: 1,
  },
];

describe('a replica that, when it loads,', () => {
  for (const { what, code, failures } of faults) {
    test(`${what}: as a replacement it is tried again with back-off, the service goes on with what it has, and recovers when the file is mended`, async (t) => {
      const faulty = moduleThat(t, code);
      const service = await Service.start(t, {
        modules: [faulty.module],
        workers: 2,
        // It waits so long for one that hangs. A busy machine must not take longer for one that does not.
        startTimeoutMs: what === 'waits for ever' ? 20_000 : patience.startTimeoutMs,
      });
      const before = service.threads;
      faulty.break();
      const dead = plan('reallyExit', { method: 'heavy' });
      assert.equal((await service.send(dead)).outcome, '-32002 exit');
      const lost = service.pool.deaths;
      const delays = (): number[] =>
        service.lines.flatMap(({ fields: { retryMs } }) =>
          typeof retryMs === 'number' ? [retryMs] : [],
        );
      const failed = (): number => delays().length + service.pool.deaths - lost;
      const isSlower = (): boolean => delays().some((ms) => ms > 0);
      // The delays begin anew where a busy machine took 10 s for a start.
      while (failed() < failures || (failures > 3 && !isSlower() && failed() < 10 * failures)) {
        const some = plans(5);
        assertOk(await service.sendAll(some));
        assertRanOnce(some);
        assert.equal(service.pool.workers.length, 1, 'the one that is left');
        // What hangs does so for 20 s: calls now and then tell enough.
        await pause(20);
      }
      assert.deepEqual(
        delays(),
        delays().toSorted((a, b) => a - b),
      );
      if (failures > 3) assert.ok(isSlower(), 'it spins');
      faulty.mend();
      await service.whole();
      assert.equal(service.threads.filter((thread) => before.includes(thread)).length, 1);
      assertOk(await service.sendAll(plans(20)));
      await service.assertIdle();
    });
  }

  test('throws while no other is left: what came meanwhile waits, and runs once when the file is mended', async (t) => {
    const faulty = moduleThat(t, "throw new Error('broken on purpose');");
    const service = await Service.start(t, {
      modules: [faulty.module],
      workers: 1,
      maxQueueMs: 60_000,
    });
    faulty.break();
    assert.equal((await service.send(plan('reallyExit'))).outcome, '-32002 exit');
    const some = plans(20);
    const answers = service.sendAll(some);
    await until(() => service.lines.filter(({ fields }) => 'retryMs' in fields).length >= 2);
    assert.equal(service.pool.workers.length, 0);
    faulty.mend();
    assertOk(await answers);
    assertRanOnce(some);
    await service.assertIdle();
  });
});
