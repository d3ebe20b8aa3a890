import type { RequestScope } from '../dispatch/scope.ts';

/** Runs a request whose caller goes when `signal` aborts. */
export async function runScope<T>(
  scope: RequestScope,
  signal: AbortSignal | undefined,
  run: (scope: RequestScope) => T | Promise<T>,
): Promise<T> {
  if (signal === undefined) return run(scope);
  const onAbort = (): void => scope.cancel();
  if (signal.aborted) scope.cancel();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await run(scope);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
