import { RpcError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Outcome } from './outcome.ts';
import type { Call } from './request.ts';
import { type RetryPolicy, retryDelay } from './retry.ts';

export interface RunOptions extends RetryPolicy {
  readonly signal: AbortSignal | undefined;
  /** Milliseconds for all attempts together. */
  readonly timeoutMs: number;
}

/**
 * Sends calls, and sends them again where that is allowed, until they have outcomes or their time is up. The client
 * keeps the deadline as well as the server, which may be out of reach.
 *
 * @throws the signal's reason, what `headers` throws
 */
export async function run(
  exchange: Exchange,
  calls: readonly Call[],
  options: RunOptions,
): Promise<Outcome[]> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const late = calls.map(({ method }) => {
    return new RpcError(-32001, 'Deadline exceeded', { timeoutMs }, method);
  });
  const expires = performance.now() + timeoutMs;
  const stop = new AbortController();
  // Without AbortSignal.any and AbortSignal.timeout, which some supported runtimes do not have.
  const abort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  const stopped = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason));
  });
  let pause: ReturnType<typeof setTimeout> | undefined;
  // A timer takes 31 bits.
  const deadline =
    timeoutMs < 2 ** 31 ? setTimeout(() => stop.abort(late[0]), timeoutMs) : undefined;
  try {
    for (let attempt = 0; ; attempt++) {
      const outcomes = await Promise.race([exchange(calls, stop.signal, expires), stopped]);
      const delay = retryDelay(outcomes, attempt, options, Math.random());
      if (delay === undefined || performance.now() + delay >= expires) return outcomes;
      const paused = new Promise((resolve) => {
        pause = setTimeout(resolve, delay);
      });
      await Promise.race([paused, stopped]);
    }
  } catch (error) {
    if (error !== late[0]) throw error;
    return late.map((each) => ({ ok: false, error: each }));
  } finally {
    clearTimeout(deadline);
    clearTimeout(pause);
    signal?.removeEventListener('abort', abort);
  }
}
