/** What of a module is being done: told before each step, so that what hangs can be named. */
export interface LoadStage {
  readonly step: 'import' | 'setup';
  /** As the module was named. */
  readonly module: string;
}

/** What has not ended, for an error message. */
export function describeStage({ step, module }: LoadStage): string {
  return step === 'import' ? `loading ${module}` : `setup() of ${module}`;
}

/** What to do about a module that does not end loading. */
export const hangHint =
  'look for a loop, or a wait at the top level or in setup(), that does not end, or raise startTimeoutMs';

/** How a load is watched, and given up. */
export interface LoadControl {
  /** Its abort gives the load up: the promise rejects with the reason, whatever still runs is nobody's. */
  readonly signal?: AbortSignal | undefined;
  readonly onStage?: ((stage: LoadStage) => void) | undefined;
}

/** The same promise, or the signal's reason as soon as that aborts. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {}); // what was given up may fail: nobody waits for it
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener('abort', onAbort);
      work.then(resolve, reject);
    });
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
