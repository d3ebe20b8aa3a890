import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import { DeadlineSweep, OrphanCounts } from '../../../src/core/dispatch/deadline.ts';
import { InlineExecutor, InlineHost } from '../../../src/core/dispatch/inline.ts';
import { InlineTurns } from '../../../src/core/dispatch/inline-turns.ts';
import { closedExecutor } from '../../../src/core/dispatch/kernel.ts';
import { oneCaller } from '../../../src/core/dispatch/share.ts';
import { SourceFiles } from '../../../src/core/modules/module-files.ts';
import { workerExecArgv } from '../../../src/core/modules/typescript.ts';
import { fingerprint } from '../../../src/core/procedures/document/introspect.ts';
import { PoolCounters } from '../../../src/core/workers/options.ts';
import { Pool } from '../../../src/core/workers/pool.ts';
import { fixture } from '../../files.ts';
import affinity from '../../fixtures/executors/affinity.ts';
import batched from '../../fixtures/executors/batched.ts';
import procedures from '../../fixtures/executors/procedures.ts';
import { patience } from '../../patience.ts';
import { turn } from '../../turns.ts';
import { openStreams } from '../open-streams.ts';
import type { Subject } from './subject.ts';

/** No call of the suite comes near it, but for those that have a deadline of their own. */
const timeoutMs = 600_000;

export const inline: Subject = {
  name: 'inline',
  router: procedures,
  abilities: { runs: true, stopsThreads: false, streams: true, batches: false },
  cases: { mixes: 60, closes: 30 },
  open: async ({ observer, maxReplyBytes, onFault }) => {
    const deadlines = new DeadlineSweep();
    const options = { timeoutMs, maxReplyBytes, checkResults: 'refuse' as const, onFault };
    const streams = openStreams(timeoutMs, deadlines, observer);
    const turns = new InlineTurns(oneCaller, deadlines);
    const orphans = new OrphanCounts();
    const host = new InlineHost({ options, deadlines, streams, orphans, turns, observer });
    return {
      executor: new InlineExecutor(host),
      streams,
      // The service stops new calls, waits for those it has, and then ends the deadlines.
      close: async (graceMs) => {
        host.close();
        const streamsEnded = streams.drain('shutdown', graceMs, 0);
        while (graceMs > 0 && host.inFlight > 0) await turn();
        await streamsEnded;
        deadlines.close();
      },
    };
  },
};

export const inlineBatched: Subject = {
  ...inline,
  name: 'inline, calls together',
  router: batched,
  abilities: { ...inline.abilities, batches: true },
};

const nothing = (): void => {};

/** By the names of their modules in test/fixtures/executors. */
const routers = { procedures, batched, affinity };

export const pool = poolSubject('pool', undefined, { mixes: 12, closes: 2 });
export const poolBatched = poolSubject(
  'pool, calls together',
  undefined,
  { mixes: 4, closes: 1 },
  'batched',
);
/** The workers of a group are a pool of their own, which tells of its calls under the group's place. */
export const groupBatched = poolSubject(
  'group, calls together',
  'heavy',
  { mixes: 25, closes: 6 },
  'batched',
);
export const poolAffinity = poolSubject(
  'pool, with affinity',
  undefined,
  { mixes: 25, closes: 6 },
  'affinity',
);
export const group = poolSubject('group', 'heavy', { mixes: 15, closes: 4 });

function poolSubject(
  name: string,
  ofGroup: string | undefined,
  cases: Subject['cases'],
  module: keyof typeof routers = 'procedures',
): Subject {
  const router = routers[module];
  return {
    name,
    router,
    abilities: { runs: true, stopsThreads: true, streams: true, batches: module === 'batched' },
    cases,
    open: async ({ observer, maxReplyBytes, onFault }) => {
      const modules = [fixture(`executors/${module}.ts`)];
      const limits = { maxDepth: 64, strict: true, checkResults: 'refuse' as const, maxReplyBytes };
      const deadlines = new DeadlineSweep();
      const streams = openStreams(timeoutMs, deadlines, observer);
      const opened = new Pool(
        {
          ...patience,
          group: ofGroup,
          modules,
          sources: new SourceFiles(() => new Map()),
          isReloadComing: () => false,
          execArgv: workerExecArgv(modules),
          // One: what it tells is heard in the order in which it happened.
          workers: 1,
          spareWorkers: 0,
          niceIncrement: 0,
          workerMemoryMb: 0,
          maxQueue: 10_000,
          timeoutMs,
          maxRequestMs: timeoutMs,
          maxWorkerMemory: 0,
          counters: new PoolCounters(),
          broadcasts: { replaysFor: () => [], send: async () => [] },
          bodies: new BodyMemory(2 ** 26, 2 ** 24),
          streams,
          shares: { keyOf: () => '', weightOf: () => 1 },
          replica: { ...limits, tracing: false },
        },
        observer,
        {
          onFault,
          onLine: nothing,
          onGarbled: nothing,
          onBroadcastFailed: nothing,
          onUncaught: nothing,
          onLost: nothing,
          onKilled: nothing,
          onPlaceHeld: nothing,
          onNoStack: nothing,
          onRetired: nothing,
          onRestartFailed: nothing,
          onOutdated: nothing,
          onNotNiced: nothing,
        },
      );
      opened.workers.expect({ fingerprint: fingerprint(router), mayImport: false });
      await opened.ready();
      return {
        executor: opened,
        streams,
        close: async (graceMs) => {
          await Promise.all([streams.drain('shutdown', graceMs, 0), opened.close(graceMs)]);
          deadlines.close();
        },
      };
    },
  };
}

export const closed: Subject = {
  name: 'closed',
  router: procedures,
  abilities: { runs: false, stopsThreads: false, streams: false, batches: false },
  cases: { mixes: 60, closes: 30 },
  open: async ({ observer }) => {
    const streams = openStreams(timeoutMs, undefined, observer);
    return { executor: closedExecutor(observer), streams, close: async () => {} };
  },
};
