import { RpcError } from './errors.ts';
import type { Outcome } from './outcome.ts';

export interface RetryPolicy {
  /** How many times a call may be sent again. */
  readonly retries: number;
  /** Running the call twice does no harm. */
  readonly idempotent: boolean;
}

const overloaded = -32000;
const workerLost = -32002;
const cancelled = -32003;

const firstWaitMs = 50;
/** Longest wait. Where the server asks for more, the call is not sent again and its caller gets the error. */
const longestWaitMs = 30_000;

/**
 * Milliseconds to wait before the calls of one request are sent again; undefined: they are not sent again. A batch is
 * sent again as a whole or not at all, which keeps its order.
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
  let wait = firstWaitMs * 2 ** attempt;
  for (const outcome of outcomes) {
    if (outcome.ok || !mayRepeat(outcome.error, idempotent)) return undefined;
    const asked = (outcome.error as { data?: { retryAfterMs?: unknown } | null }).data
      ?.retryAfterMs;
    if (typeof asked === 'number') wait = Math.max(wait, asked);
  }
  return wait > longestWaitMs ? undefined : wait * (1 + random);
}

function mayRepeat(error: Extract<Outcome, { ok: false }>['error'], idempotent: boolean): boolean {
  if (error instanceof RpcError) {
    const { code, data } = error;
    if (code === overloaded || code === cancelled) return true; // it never ran
    // Nobody knows whether the call of a lost worker ran. The server says where that makes no difference.
    const allowed = idempotent || (data as { retry?: unknown } | null | undefined)?.retry === true;
    return allowed && code === workerLost;
  }
  // A 404, a redirect or a garbled reply would come again.
  const { status = 0, cause } = error;
  return idempotent && (cause !== undefined || status >= 500 || status === 429);
}
