/** What a killed thread leaves behind in the main thread: counted by object, since resident memory goes up and down by itself. */

import assert from 'node:assert/strict';
import module from 'node:module';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { MessagePort, Worker } from 'node:worker_threads';
import { QueuedCall } from '../../src/core/dispatch/queue/queued-call.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { Loading } from '../../src/core/workers/loading.ts';
import { Ledger } from '../../src/core/workers/wire/ledger.ts';
import { Outbox } from '../../src/core/workers/wire/messages.ts';
import { PoolWorker } from '../../src/core/workers/worker.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';
import { fixture, outcomes, plan, plans, Service } from './plans.ts';

const kinds = [
  PoolWorker,
  Loading,
  Ledger,
  Outbox,
  QueuedCall,
  RequestScope,
  Worker,
  AbortController,
  MessagePort,
];

/** Objects that are still reachable, by their kind. */
function counts(isWithHooks: boolean): Map<string, number> {
  // Where Node has no `registerHooks`, each worker thread has a thread for its hooks. Node keeps a port for that thread
  // on the main thread, 3 KB, if the worker thread is ended.
  const left = isWithHooks && !('registerHooks' in module);
  const counted = left ? kinds.filter((kind) => kind !== MessagePort) : kinds;
  return new Map(counted.map((kind) => [kind.name, queryObjects(kind, { format: 'count' })]));
}

function more(now: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): string[] {
  return [...now].flatMap(([name, count]) => {
    const earlier = before.get(name) ?? 0;
    return count > earlier ? [`${name}: ${count} after ${earlier}`] : [];
  });
}

async function leavesNothing(t: TestContext, path: string, isWithHooks: boolean): Promise<void> {
  const service = await Service.start(t, { modules: [path], workers: 1, spareWorkers: 1 });
  const kill = async (kind: string): Promise<void> => {
    const [lost] = service.threads;
    await Promise.all([service.send(plan(kind)), service.sendAll(plans(5, 'later'))]);
    await until(() => service.threads.length === 1 && service.threads[0] !== lost);
  };
  const settle = async (): Promise<void> => {
    await until(() => service.pool.spares === 1);
    await service.assertIdle();
  };
  const ends = ['loop', 'spinLater', 'reallyExit'];
  for (const kind of ends) await kill(kind);
  await settle();
  const before = counts(isWithHooks);
  for (const kind of [...ends, ...ends]) await kill(kind);
  await settle();
  // The last threads may be on their way out, for long on a busy machine. What is left behind stays.
  let left = more(counts(isWithHooks), before);
  for (let tries = 0; left.length > 0 && tries < 1200; tries++) {
    await setTimeout(50);
    left = more(counts(isWithHooks), before);
  }
  assert.deepEqual(left, []);
  assert.deepEqual(outcomes(await service.sendAll(plans(3))), ['ok', 'ok', 'ok']);
}

describe('a killed thread leaves no object behind in the main thread', () => {
  test('where it ran a module of this package', (t) =>
    leavesNothing(t, fixture('procedures.ts'), false));

  // Node loads these by hooks, for which each thread has a thread of its own on Node 20.
  for (const name of ['module.mjs', 'module.ts']) {
    test(`where it ran a user's ${name}`, (t) => {
      const folder = new ModuleFolder(t);
      const text = `export { default } from ${JSON.stringify(fixture('procedures.ts'))};`;
      return leavesNothing(t, folder.write(name, text), true);
    });
  }
});
