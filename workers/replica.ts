import type { Notice, ReplicaTask } from '../src/pool/wire/messages.ts';

/**
 * The entry piscina loads in each worker thread. The import is dynamic since piscina tries `require`
 * first: what is imported from here on comes as ES modules in any case, so that the router and the
 * procedure modules share one copy of this package.
 */
export default async function replica(task: ReplicaTask): Promise<void> {
  const main = await import('../src/pool/replica/main.ts').catch((error: unknown) => {
    tellFailure(task, error);
  });
  // The front end ends this thread: what failed to load, for want of file descriptors say, stays in its module cache.
  if (main === undefined) return new Promise(() => {});
  await main.runReplica(task);
}

function tellFailure({ port }: ReplicaTask, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  port.postMessage({ type: 'failed', message, stack } satisfies Notice);
}
