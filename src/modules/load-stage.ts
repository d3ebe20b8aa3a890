/** A step of loading a module. It is reported before the step begins, so that an error can name the step that hangs. */
export interface LoadStage {
  readonly step: 'import' | 'setup';
  /** The module as its user named it. */
  readonly module: string;
}

/** Names the step that has not ended, for an error message. */
export function describeStage({ step, module }: LoadStage): string {
  return step === 'import' ? `loading ${module}` : `setup() of ${module}`;
}

/** What to do about a module that does not end loading. */
export const hangHint =
  'look for a loop, or a wait at the top level or in setup(), that does not end, or raise startTimeoutMs';

/** How the caller watches a load, and gives it up. */
export interface LoadControl {
  /** Aborting it gives the load up: the promise rejects with the reason. Code that is still running is not waited for. */
  readonly signal?: AbortSignal | undefined;
  readonly onStage?: ((stage: LoadStage) => void) | undefined;
}

/** Resolves as `work` does. Rejects with the signal's reason as soon as the signal aborts. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  work.catch(() => {}); // the work may still fail after it was given up
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
