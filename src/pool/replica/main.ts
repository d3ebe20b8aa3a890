import { getPriority } from 'node:os';
import { threadId } from 'node:worker_threads';
import { aheadMs } from '../../base/clock.ts';
import { ProcessExit } from '../../base/process-exit.ts';
import { enterReplica } from '../../base/thread-role.ts';
import { summaryWithPlace } from '../../modules/load-error.ts';
import type { LoadStage } from '../../modules/load-stage.ts';
import { type LoadedModules, loadModules } from '../../modules/modules.ts';
import { fingerprint } from '../../router/document/introspect.ts';
import { describe } from '../../router/fault.ts';
import { tableOf } from '../../router/router.ts';
import { trustPatterns } from '../../router/schema/patterns.ts';
import { Ledger } from '../wire/ledger.ts';
import type { LoadedReplica, ReplicaTask, ToReplica } from '../wire/messages.ts';
import { Outbox } from '../wire/outbox.ts';
import { Postbox } from './postbox.ts';
import { Replica } from './replica.ts';
import { loadRunTraced, type RunTraced } from './trace.ts';

/** The resident task of a worker thread: loads the modules, then serves frames until the front end says to close. */
export async function runReplica(task: ReplicaTask): Promise<void> {
  const { port } = task;
  const postbox = new Postbox(port, new Outbox(task.outbox));
  enterReplica();
  const onUncaught = (error: unknown): void =>
    postbox.notify({
      type: 'uncaught',
      detail: describe(error),
      line: summaryWithPlace(error),
    });
  guardThread(onUncaught);
  let modules: LoadedModules;
  let loaded: LoadedReplica;
  let runTraced: RunTraced | undefined;
  try {
    // Loaded before the modules, so that a tracer provider that a module registers finds it there.
    if (task.options.tracing) runTraced = await loadRunTraced();
    ({ modules, loaded } = await loadReplica(task, (stage) =>
      postbox.notify({ type: 'stage', stage }),
    ));
  } catch (error) {
    const message = error instanceof Error ? error.message : describe(error);
    postbox.notify({
      type: 'failed',
      message,
      stack: error instanceof Error ? error.stack : undefined,
    });
    // Never resolves: the front end ends this thread, since what failed to load stays in its module cache.
    return new Promise(() => {});
  }
  const ledger = new Ledger(task.ledger);
  const table = tableOf(modules.router);
  const behindMs = aheadMs - task.aheadMs;
  const replica = new Replica(postbox, ledger, table, task.options, behindMs, runTraced);
  const ending = new Promise<'close' | 'retire'>((resolve) => {
    port.on('message', (message: ToReplica) => {
      if (message.type === 'frame') replica.run(message);
      else if (message.type === 'abort') replica.abort(message);
      else if (message.type === 'probe') postbox.notify({ type: 'idle', lastTicket: -1 });
      else if (message.type === 'close' || message.type === 'retire') resolve(message.type);
      else replica.streams.obey(message);
    });
  });
  // On Linux each thread has a niceness of its own. The front end learns from it whether the pool's setting took
  // effect.
  postbox.notify({ type: 'ready', threadId, nice: getPriority(), loaded });
  if ((await ending) === 'retire') {
    try {
      await modules.teardown();
    } catch (error) {
      onUncaught(error);
    }
    postbox.notify({ type: 'retired' });
    return new Promise(() => {}); // never resolves, as above: the front end ends the thread
  }
  try {
    await modules.teardown();
  } finally {
    port.close();
  }
}

async function loadReplica(
  task: ReplicaTask,
  onStage: (stage: LoadStage) => void,
): Promise<{ modules: LoadedModules; loaded: LoadedReplica }> {
  // The main thread checks the patterns of the same schemas before any call comes.
  trustPatterns();
  const tells = task.fingerprint === undefined;
  const modules = await loadModules(task.modules, { generation: 0, onStage, tracksFiles: tells });
  const own = fingerprint(modules.router);
  if (!tells && own !== task.fingerprint) {
    throw new Error(
      `the modules registered other procedures, or other middleware, in this worker than in the main thread (${task.modules.join(', ')}): ` +
        'registration must not depend on the thread, the time or chance',
    );
  }
  await modules.setup({ onStage });
  return { modules, loaded: { fingerprint: own, files: tells ? modules.files : undefined } };
}

/** Turns what would end the thread, with all its calls, into an error of one call or a line in the log. */
function guardThread(onUncaught: (error: unknown) => void): void {
  process.exit = (code) => {
    throw new ProcessExit(code);
  };
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
}
