import { RpcError } from './errors.ts';
import type { Outcome } from './outcome.ts';

export interface RetryPolicy {
  /** How many times more it may be sent. */
  readonly retries: number;
  /** Running it twice does no harm. */
  readonly idempotent: boolean;
}

const overloaded = -32000;
const workerLost = -32002;
const cancelled = -32003;

const firstWaitMs = 50;
/** A server that asks for more is not waited for: its caller should know. */
const longestWaitMs = 30_000;

/**
 * How long to wait before the calls of one request are sent again, in milliseconds; undefined: they are
 * not. A batch is sent again as a whole or not at all, which keeps its order.
 *
 * @param attempt 0 after the first one
 * @param random 0 to 1: clients that were refused together must not come back together
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
    const { code } = error;
    // The first two never ran; of a lost worker's call nobody knows.
    return code === overloaded || code === cancelled || (idempotent && code === workerLost);
  }
  // What a server says for good (404, a redirect, a reply it garbled) it will say again.
  const { status = 0, cause } = error;
  return idempotent && (cause !== undefined || status >= 500 || status === 429);
}
