/**
 * Largest number of milliseconds that is kept. A caller may ask for any number. Above this value a double can't hold
 * every integer.
 */
const maxTimeout = Number.MAX_SAFE_INTEGER;

/** What is said to whoever sends another value. */
export const badTimeoutReason = 'rpc-timeout-ms must be a positive integer';

/**
 * Reads the value of the header `rpc-timeout-ms`, in which callers say how long they wait.
 *
 * @returns milliseconds; NaN: the value is not a positive integer
 */
export function parseTimeout(value: string): number {
  const ms = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return ms > 0 ? Math.min(ms, maxTimeout) : Number.NaN;
}
