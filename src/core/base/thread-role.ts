import { AsyncLocalStorage } from 'node:async_hooks';
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

/** A module that a service loads, from the beginning of its import to the end. */
interface Loading {
  readonly module: string;
  isOver: boolean;
}

const loadingKey = Symbol.for('tandem-rpc.loading');
const holder = globalThis as { [loadingKey]?: AsyncLocalStorage<Loading> };
let loads = 0;

/** Runs the import of a module of a service, so that {@link assertMainSide} knows what the module starts while it is imported. */
export async function whileLoading<T>(module: string, load: () => Promise<T>): Promise<T> {
  holder[loadingKey] ??= new AsyncLocalStorage();
  const loading: Loading = { module, isOver: false };
  loads++;
  try {
    return await holder[loadingKey].run(loading, load);
  } finally {
    loading.isOver = true;
    // On Node 20 and 22 each promise of the thread costs more while this is enabled.
    if (--loads === 0) holder[loadingKey].disable();
  }
}

/** @throws StartupError if a service would start itself again without end: in a worker of a pool, and while its module is imported */
export function assertMainSide(what: string): void {
  const loading = holder[loadingKey]?.getStore();
  if (loading?.isOver === false && !isReplica()) {
    throw new StartupError(
      `cannot ${what} while ${loading.module} is loaded as a module of a service, which listens itself: leave that out of the module, or do it in another file, which has ${loading.module} in the option modules`,
    );
  }
  if (!isReplica()) return;
  throw new StartupError(
    `cannot ${what} in a worker thread of one: a procedure module is loaded in every worker too, so start the service in another file, or only where isMainThread of node:worker_threads is true`,
  );
}

/** Thrown instead of `process.exit()` where it must not end the thread: while a module loads, and in a worker. */
export class ProcessExit extends Error {
  override readonly name = 'ProcessExit';
  readonly #isOne = true;
  /** As it was written, `process.exit(3)`. */
  readonly call: string;

  constructor(code: number | string | null | undefined) {
    const call = `process.exit(${code ?? ''})`;
    super(`it called ${call}`);
    this.call = call;
  }

  /** Of anything that was thrown: `instanceof` asks a proxy, which may throw. */
  static is(thrown: unknown): thrown is ProcessExit {
    return typeof thrown === 'object' && thrown !== null && #isOne in thrown && thrown.#isOne;
  }
}
