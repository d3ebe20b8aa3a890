import type { ReplicaTask } from '../src/pool/wire.ts';

/**
 * The entry piscina loads in each worker thread. The import is dynamic since piscina tries `require`
 * first: what is imported from here on comes as ES modules in any case, so that the router and the
 * procedure modules share one copy of this package.
 */
export default async function replica(task: ReplicaTask): Promise<void> {
  const { runReplica } = await import('../src/pool/replica-main.ts');
  await runReplica(task);
}
