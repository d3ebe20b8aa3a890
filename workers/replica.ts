import { keepCompiledCode } from '../src/core/base/compile-cache.ts';
import type { Notice, ReplicaTask } from '../src/core/workers/wire/messages.ts';

keepCompiledCode();
/**
 * The code of a replica. A thread loads it as soon as it starts: at the start of a service the main thread loads the modules
 * meanwhile. The import is dynamic because piscina tries `require` first. What a dynamic import loads is an ES module in any
 * case, so the router and the procedure modules share one copy of this package.
 */
const loading = import('../src/core/workers/replica/main.ts');
// The task tells of a failure.
loading.catch(() => {});

/** The entry that piscina loads in each worker thread. */
export default async function replica(task: ReplicaTask): Promise<void> {
  const main = await loading.catch((error: unknown) => {
    tellFailure(task, error);
  });
  // Never resolves: the main thread ends this thread. What failed to load, for want of file descriptors say, stays in
  // this thread's module cache.
  if (main === undefined) return new Promise(() => {});
  await main.runReplica(task);
}

function tellFailure({ port }: ReplicaTask, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  port.postMessage({ type: 'failed', message, stack } satisfies Notice);
}
