import { getPriority } from 'node:os';
import { threadId } from 'node:worker_threads';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { fingerprint } from '../router/introspect.ts';
import { describe } from '../router/invoke.ts';
import { type LoadedModules, loadModules } from '../router/modules.ts';
import { trustPatterns } from '../router/patterns.ts';
import { tableOf } from '../router/router.ts';
import { Ledger } from './ledger.ts';
import { Replica } from './replica.ts';
import { enterReplica } from './thread-role.ts';
import type { FromReplica, ReplicaTask, ToReplica } from './wire.ts';

/** The resident task of a worker thread: loads the modules, serves frames until it is told to close. */
export async function runReplica(task: ReplicaTask): Promise<void> {
  const { port } = task;
  const post = (message: FromReplica): void => port.postMessage(message);
  enterReplica();
  guardThread((detail) => post({ type: 'uncaught', detail }));
  let modules: LoadedModules;
  try {
    modules = await loadReplica(task);
  } catch (error) {
    const message = error instanceof Error ? error.message : describe(error);
    post({ type: 'failed', message, stack: error instanceof Error ? error.stack : undefined });
    // The front end ends this thread: what failed to load stays in its module cache.
    return new Promise(() => {});
  }
  const ledger = new Ledger(task.ledger);
  const replica = new Replica(port, ledger, tableOf(modules.router), task.options);
  const closed = new Promise<void>((resolve) => {
    port.on('message', (message: ToReplica) => {
      if (Array.isArray(message)) replica.run(message);
      else if (message.type === 'abort') replica.abort(message);
      else if (message.type === 'probe') post({ type: 'idle', lastTicket: -1 });
      else resolve();
    });
  });
  // The niceness is a thread's own on Linux: this tells whether the pool's setting took.
  post({ type: 'ready', threadId, nice: getPriority() });
  await closed;
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
