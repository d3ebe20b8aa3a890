import type { Notice, ReplicaTask } from '../src/core/workers/wire/messages.ts';

/**
 * The entry that piscina loads in each worker thread. The import is dynamic because piscina tries `require` first.
 * What a dynamic import loads is an ES module in any case, so the router and the procedure modules share one copy of
 * this package.
 */
export default async function replica(task: ReplicaTask): Promise<void> {
  const main = await import('../src/core/workers/replica/main.ts').catch((error: unknown) => {
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
