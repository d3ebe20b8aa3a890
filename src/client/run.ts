import type { Call, Exchange } from './exchange.ts';
import { type Outcome, RpcError, type RpcTransportError } from './outcome.ts';

interface Waiting {
  readonly calls: readonly Call[];
  readonly signal: AbortSignal;
  readonly expires: number;
  readonly resolve: (outcomes: Outcome[]) => void;
  readonly reject: (reason: unknown) => void;
}

/** An exchange that collects the calls of one turn of the event loop and sends them as one batch. */
export function collect(exchange: Exchange, max: number): Exchange {
  let waiting: Waiting[] = [];
  const flush = (): void => {
    const group = waiting.filter(({ signal }) => !signal.aborted);
    waiting = [];
    if (group.length > 0) sendTogether(exchange, group);
  };
  return (calls, signal, expires) =>
    new Promise((resolve, reject) => {
      waiting.push({ calls, signal, expires, resolve, reject });
      if (waiting.length >= max) flush();
      else if (waiting.length === 1) setTimeout(flush);
    });
}

function sendTogether(exchange: Exchange, group: readonly Waiting[]): void {
  // When one caller aborts, the others still get their replies: the request is aborted with its last caller.
  const stop = new AbortController();
  let left = group.length;
  for (const { signal } of group) {
    signal.addEventListener('abort', () => {
      left -= 1;
      if (left === 0) stop.abort(signal.reason);
    });
  }
  const calls = group.flatMap((each) => each.calls);
  // The server gets one deadline for all calls, the latest. Each caller also keeps its own here.
  const expires = Math.max(...group.map((each) => each.expires));
  exchange(calls, stop.signal, expires).then(
    (outcomes) => {
      for (const each of group) each.resolve(outcomes.splice(0, each.calls.length));
    },
    (reason) => {
      for (const { reject } of group) reject(reason);
    },
  );
}

export interface RetryPolicy {
  /** How many times a call may be sent again. */
  readonly retries: number;
  /** Running the call twice does no harm. */
  readonly idempotent: boolean;
}

/**
 * Milliseconds to wait before the calls of one request are sent again; undefined: they are not sent again. A batch is
 * sent again as a whole or not at all, which keeps its order. The first wait is 50 ms. If the server asks for more than
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
    // Overloaded, lost with its worker, cancelled: the server says what never ran, or may run twice. A handler can't say so.
    const allowed = idempotent || (data as { retry?: unknown } | null | undefined)?.retry === true;
    return allowed && (code === -32000 || code === -32002 || code === -32003);
  }
  // A 404, a redirect or a garbled reply would come again.
  const { status = 0, cause } = error as Partial<RpcTransportError>;
  return idempotent && (cause !== undefined || status >= 500 || status === 429);
}

export interface RunOptions extends RetryPolicy {
  readonly signal: AbortSignal | undefined;
  /** Milliseconds for all attempts together. */
  readonly timeoutMs: number;
}

/**
 * Sends calls, and sends them again if that is allowed, until they have outcomes or their time is up. The client
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
