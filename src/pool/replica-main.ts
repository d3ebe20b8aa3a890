import { getPriority } from 'node:os';
import { threadId } from 'node:worker_threads';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { fingerprint } from '../router/document/introspect.ts';
import { describe } from '../router/invoke.ts';
import { type LoadedModules, loadModules } from '../router/modules/modules.ts';
import { tableOf } from '../router/router.ts';
import { trustPatterns } from '../router/schema/patterns.ts';
import { Ledger } from './ledger.ts';
import { Outbox } from './outbox.ts';
import { Postbox } from './postbox.ts';
import { Replica } from './replica.ts';
import { loadRunTraced, type RunTraced } from './replica-trace.ts';
import { enterReplica } from './thread-role.ts';
import type { ReplicaTask, ToReplica } from './wire.ts';

/** The resident task of a worker thread: loads the modules, serves frames until it is told to close. */
export async function runReplica(task: ReplicaTask): Promise<void> {
  const { port } = task;
  const postbox = new Postbox(port, new Outbox(task.outbox));
  enterReplica();
  guardThread((detail) => postbox.notify({ type: 'uncaught', detail }));
  let modules: LoadedModules;
  let runTraced: RunTraced | undefined;
  try {
    // Before the modules: a tracer provider that they register finds it there.
    if (task.options.tracing) runTraced = await loadRunTraced();
    modules = await loadReplica(task);
  } catch (error) {
    const message = error instanceof Error ? error.message : describe(error);
    postbox.notify({
      type: 'failed',
      message,
      stack: error instanceof Error ? error.stack : undefined,
    });
    // The front end ends this thread: what failed to load stays in its module cache.
    return new Promise(() => {});
  }
  const ledger = new Ledger(task.ledger);
  const replica = new Replica(postbox, ledger, tableOf(modules.router), task.options, runTraced);
  const ending = new Promise<'close' | 'retire'>((resolve) => {
    port.on('message', (message: ToReplica) => {
      if (message.type === 'frame') replica.run(message);
      else if (message.type === 'abort') replica.abort(message);
      else if (message.type === 'probe') postbox.notify({ type: 'idle', lastTicket: -1 });
      else resolve(message.type);
    });
  });
  // The niceness is a thread's own on Linux: this tells whether the pool's setting took.
  postbox.notify({ type: 'ready', threadId, nice: getPriority() });
  if ((await ending) === 'retire') {
    try {
      await modules.teardown();
    } catch (error) {
      postbox.notify({ type: 'uncaught', detail: describe(error) });
    }
    postbox.notify({ type: 'retired' });
    return new Promise(() => {}); // as above: it is ended from outside
  }
  try {
    await modules.teardown();
  } finally {
    port.close();
  }
}

async function loadReplica(task: ReplicaTask): Promise<LoadedModules> {
  // The front end has verified the same schemas' patterns: it saves each worker 90 ms.
  trustPatterns();
  const modules = await loadModules(task.modules, { generation: 0 });
  const own = fingerprint(modules.router);
  if (own !== task.fingerprint) {
    throw new Error(
      `the modules registered other procedures in this worker than in the main thread (${task.modules.join(', ')}): ` +
        'registration must not depend on the thread, the time or chance',
    );
  }
  await modules.setup();
  return modules;
}

/** What would end the thread under its other calls becomes an error of one call, or a line in the log. */
function guardThread(onUncaught: (detail: string) => void): void {
  process.exit = () => {
    throw new RpcError(ErrorCode.WorkerLost, 'Worker lost', { reason: 'exit' });
  };
  process.on('uncaughtException', (error) => onUncaught(describe(error)));
  process.on('unhandledRejection', (reason) => onUncaught(describe(reason)));
}
