import { RpcError, type RpcTransportError } from './errors.ts';
import type { Outcome } from './outcome.ts';

export interface RetryPolicy {
  /** How many times a call may be sent again. */
  readonly retries: number;
  /** Running the call twice does no harm. */
  readonly idempotent: boolean;
}

/**
 * Milliseconds to wait before the calls of one request are sent again; undefined: they are not sent again. A batch is
 * sent again as a whole or not at all, which keeps its order. The first wait is 50 ms. Where the server asks for more than
 * 30 s, the caller gets its error.
 *
 * The numbers stand in the code as they are: a name for each costs every page that loads the client.
 *
 * @param attempt 0 after the first attempt
 * @param random 0 to 1, so that clients that were refused together do not return together
 */
export function retryDelay(
  outcomes: readonly Outcome[],
  attempt: number,
  { retries, idempotent }: RetryPolicy,
  random: number,
): number | undefined {
  if (attempt >= retries) return undefined;
  let wait = 50 * 2 ** attempt;
  for (const outcome of outcomes) {
    if (outcome.ok || !mayRepeat(outcome.error, idempotent)) return undefined;
    const asked = (outcome.error as { data?: { retryAfterMs?: unknown } | null }).data
      ?.retryAfterMs;
    if (typeof asked === 'number') wait = Math.max(wait, asked);
  }
  return wait > 30_000 ? undefined : wait * (1 + random);
}

export function mayRepeat(error: unknown, idempotent: boolean): boolean {
  if (error instanceof RpcError) {
    const { code, data } = error;
    if (code === -32000 || code === -32003) return true; // overloaded, cancelled: it never ran
    // Nobody knows whether the call of a lost worker ran. The server says where that makes no difference.
    const allowed = idempotent || (data as { retry?: unknown } | null | undefined)?.retry === true;
    return allowed && code === -32002;
  }
  // A 404, a redirect or a garbled reply would come again.
  const { status = 0, cause } = error as Partial<RpcTransportError>;
  return idempotent && (cause !== undefined || status >= 500 || status === 429);
}
