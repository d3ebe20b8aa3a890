import { readlinkSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { threadId } from 'node:worker_threads';
import { aheadMs } from '../../base/clock.ts';
import { LineLimiter } from '../../base/line-limiter.ts';
import { messageOf } from '../../base/message-of.ts';
import { placeOfGroup } from '../../base/place.ts';
import { enterReplica, ProcessExit } from '../../base/thread-role.ts';
import { mayRunAt } from '../../dispatch/placement.ts';
import { toRemoteSpan } from '../../dispatch/trace.ts';
import { onFilesLoaded, recordedFiles } from '../../modules/import-graph.ts';
import { type LoadStage, summaryWithPlace } from '../../modules/load-error.ts';
import { type LoadedModules, loadModules } from '../../modules/modules.ts';
import { fingerprint } from '../../procedures/document/introspect.ts';
import { describe } from '../../procedures/fault.ts';
import { tableOf } from '../../procedures/router.ts';
import type { Procedure } from '../../procedures/types.ts';
import { patternAnalyses } from '../../schema/patterns.ts';
import { Ledger } from '../wire/ledger.ts';
import {
  type LoadedReplica,
  type Notice,
  Outbox,
  ReplicaSender,
  type ReplicaTask,
  type ToReplica,
} from '../wire/messages.ts';
import { ReplicaBroadcasts } from './broadcasts.ts';
import { Replica, type RunTraced } from './replica.ts';

/** Errors outside of calls in a second that the log is given in full. */
const maxUncaught = 10;

/** The resident task of a worker thread: loads the modules, then serves frames until the main thread says to close. */
export async function runReplica(task: ReplicaTask): Promise<void> {
  const { port } = task;
  const sender = new ReplicaSender(port, new Outbox(task.outbox));
  enterReplica();
  nameThread(task.threadName);
  const uncaught = new LineLimiter<undefined>(([first]) => {
    const detail = `${first?.dropped} more in a second`;
    sender.notify({ type: 'uncaught', detail, line: detail });
  });
  const onUncaught = (error: unknown): void => {
    if (!uncaught.admits('', undefined, maxUncaught)) return;
    sender.notify({ type: 'uncaught', detail: describe(error), line: summaryWithPlace(error) });
  };
  guardThread(onUncaught);
  let modules: LoadedModules;
  let loaded: LoadedReplica;
  let broadcasts: ReplicaBroadcasts;
  let runTraced: RunTraced | undefined;
  try {
    // Loaded before the modules, so that a tracer provider that a module registers finds it there.
    if (task.options.tracing) runTraced = await loadRunTraced();
    const onStage = (stage: LoadStage): void => sender.notify({ type: 'stage', stage, threadId });
    const onBroadcastFailed = (name: string, detail: string): void =>
      sender.notify({ type: 'broadcast-failed', name, detail });
    ({ modules, loaded } = await loadReplica(task, onStage, onBroadcastFailed));
    reportFiles(sender);
    broadcasts = new ReplicaBroadcasts(sender, modules.broadcasts, onBroadcastFailed);
  } catch (error) {
    const message = error instanceof Error ? error.message : describe(error);
    sender.notify({
      type: 'failed',
      message,
      stack: error instanceof Error ? error.stack : undefined,
    });
    // Never resolves: the main thread ends this thread, since what failed to load stays in its module cache.
    return new Promise(() => {});
  }
  const ledger = new Ledger(task.ledger);
  const behindMs = aheadMs - task.aheadMs;
  const replica = new Replica(sender, ledger, tableOf(modules.router), task.options, behindMs, {
    runTraced,
    broadcast: broadcasts.ask,
  });
  const ending = new Promise<Ending>((resolve) => {
    const take = (message: ToReplica): void => {
      if (message.type === 'frame') replica.run(message);
      else if (message.type === 'abort') replica.abort(message);
      else if (message.type === 'probe') sender.notify({ type: 'idle', lastTicket: -1 });
      else if (message.type === 'close' || message.type === 'retire') resolve(message);
      else if (message.type === 'broadcast' || message.type === 'broadcast-results')
        broadcasts.obey(message);
      else replica.streams.obey(message);
    };
    port.on('message', (message: ToReplica) => {
      try {
        take(message);
      } catch (error) {
        // What handlers throw is the error of a call: this is the fault of this package, or of what a handler has replaced.
        sender.notify({ type: 'broken', detail: describe(error) });
      }
    });
  });
  // On Linux each thread has a niceness of its own: it shows whether the pool's setting took effect.
  sender.notify({ type: 'ready', threadId, tid: systemThread(), nice: getPriority(), loaded });
  const end = await ending;
  if (end.type === 'retire') {
    if (end.heapFile !== undefined) sender.notify(await writeHeap(end.heapFile));
    try {
      await modules.teardown();
    } catch (error) {
      onUncaught(error);
    }
    sender.notify({ type: 'retired' });
    return new Promise(() => {}); // never resolves, as above: the main thread ends the thread
  }
  try {
    await modules.teardown();
  } finally {
    port.close();
  }
}

/** Reports the files that were loaded, and from now on each file before its code can run. */
function reportFiles(sender: ReplicaSender): void {
  const reported = new Set<string>();
  const report = (): void => {
    const files = new Map([...recordedFiles()].filter(([path]) => !reported.has(path)));
    for (const path of files.keys()) reported.add(path);
    if (files.size > 0) sender.notify({ type: 'files', files });
  };
  report();
  onFilesLoaded(report);
}

type Ending = Extract<ToReplica, { readonly type: 'close' | 'retire' }>;

/** The thread stands still meanwhile: about 0.1 s for each MB of its heap. */
async function writeHeap(file: string): Promise<Notice> {
  try {
    // Few threads ever need it.
    const { writeHeapSnapshot } = await import('node:v8');
    writeHeapSnapshot(file);
    return { type: 'heap', error: undefined };
  } catch (error) {
    return { type: 'heap', error: messageOf(error) };
  }
}

/** The number by which Linux knows this thread; 0 on other systems, and if this process may not read it. */
function systemThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/** Has no effect where threads have no such names, and if this process may not write them. */
function nameThread(name: string): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/thread-self/comm', name);
  } catch {
    // The thread is called as its process is.
  }
}

async function loadReplica(
  task: ReplicaTask,
  onStage: (stage: LoadStage) => void,
  onBroadcastFailed: (name: string, detail: string) => void,
): Promise<{ modules: LoadedModules; loaded: LoadedReplica }> {
  for (const [pattern, analysis] of task.patterns) patternAnalyses.set(pattern, analysis);
  const isFirst = task.fingerprint === undefined;
  const { mayImport: tracksImports } = task;
  const modules = await loadModules(task.modules, { generation: 0, onStage, tracksImports });
  const own = fingerprint(modules.router, modules.broadcasts.names);
  if (!isFirst && own !== task.fingerprint) {
    throw new Error(
      `the modules registered other procedures, or other middleware, in this worker than in the main thread (${task.modules.join(', ')}), or export other broadcasts: ` +
        'registration must not depend on the thread, the time or chance',
    );
  }
  const { group, replays } = task;
  const place = placeOfGroup(group);
  const runs = (procedure: Procedure): boolean => mayRunAt(place, procedure);
  const thread = { group, isMainThread: false, runs, replays, onBroadcastFailed };
  await modules.setup(thread, { onStage });
  return { modules, loaded: { fingerprint: own, mayImport: modules.mayImport } };
}

/** Turns what would end the thread, with all its calls, into an error of one call or a line in the log. */
function guardThread(onUncaught: (error: unknown) => void): void {
  process.exit = (code) => {
    throw new ProcessExit(code);
  };
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
}

/**
 * Loads the function that makes spans in this worker join the trace of the call that makes them. Without a tracer
 * provider in the thread (a module's `setup()` may register one) it has no effect.
 *
 * @throws Error where @opentelemetry/api is not installed
 */
export async function loadRunTraced(): Promise<RunTraced> {
  const { context, createTraceState, ROOT_CONTEXT, trace } = await import('@opentelemetry/api');
  return (facts, handler) => {
    if (facts?.traceparent === undefined) return handler();
    const { traceparent, tracestate } = facts;
    const span = toRemoteSpan(traceparent);
    const traceState = tracestate === undefined ? undefined : createTraceState(tracestate);
    const named = traceState === undefined ? span : { ...span, traceState };
    return context.with(trace.setSpanContext(ROOT_CONTEXT, named), handler);
  };
}
