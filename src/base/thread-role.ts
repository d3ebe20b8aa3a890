import { StartupError } from './startup-error.ts';

/**
 * A global symbol is shared by every copy of this package in the thread, whichever copy a procedure module resolved.
 */
const key = Symbol.for('tandem-rpc.isReplica');

type Marked = typeof globalThis & { [key]?: boolean };

/** Marks this thread as a replica, in which no service may be started. */
export function enterReplica(): void {
  (globalThis as Marked)[key] = true;
}

/** Whether this thread is a worker of a pool. */
export function isReplica(): boolean {
  return (globalThis as Marked)[key] === true;
}

/** @throws StartupError in a worker of a pool, where a service would start itself again without end */
export function assertMainSide(what: string): void {
  if (!isReplica()) return;
  throw new StartupError(
    `cannot ${what} in a worker thread of one: a procedure module is loaded in every worker too, so start the service in another file, or only where isMainThread of node:worker_threads is true`,
  );
}
