import type { Call, Readable } from './exchange.ts';
import { _d as decode, _e as encode, _m as mayRepeat, RpcError } from './index.ts';

/** Opens a stream once, and reads it to its end. The signal aborts when nobody reads it any more. */
export type Open = (call: Call, signal: AbortSignal) => AsyncGenerator<unknown, unknown, undefined>;

/** Waits before a stream is opened again. Rejects with the signal's reason. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;

/** What `sse()` and `webSocket()` both take. */
export interface StreamTransportOptions {
  /** @internal */
  readonly wait?: Wait;
}

const pause: Wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve(undefined);
    }, ms);
    signal.addEventListener('abort', abort);
  });

/** Calls that can be iterated. A call is sent a microtask late: who iterates it has said so by then. */
export function createReadable(open: Open, wait: Wait = pause): Readable {
  return (start, send, hint, { signal, timeoutMs = Infinity, reconnect } = {}) => {
    let isSent: boolean | undefined;
    const pending = start.then((call) => {
      isSent ??= true;
      if (isSent) return send(call);
      throw new TypeError('the call was sent already');
    });
    async function* read(): AsyncGenerator<unknown, unknown, undefined> {
      let call = await start;
      const stop = new AbortController();
      const abort = (): void => stop.abort(signal?.reason);
      if (signal?.aborted) abort();
      signal?.addEventListener('abort', abort);
      const late = (): void =>
        stop.abort(new RpcError(-32001, 'Deadline exceeded', { timeoutMs }, call.method));
      const timer = timeoutMs < 2 ** 31 ? setTimeout(late, timeoutMs) : undefined;
      let last: unknown;
      try {
        for (let attempt = 0; ; attempt++) {
          try {
            stop.signal.throwIfAborted();
            const source = open(call, stop.signal);
            for (;;) {
              const { done, value } = await source.next();
              if (done) return decode(value, hint?.bytes);
              attempt = 0;
              last = decode(value, hint?.yields);
              yield last;
            }
          } catch (error) {
            stop.signal.throwIfAborted();
            if (!reconnect || !mayRepeat(error, true)) throw error;
            const { retryAfterMs = 0 } = (error as { data?: { retryAfterMs?: number } }).data ?? {};
            const ms = Math.min(250 * 2 ** attempt, 30_000) * (0.5 + Math.random() / 2);
            await wait(Math.max(retryAfterMs, ms), stop.signal);
            if (reconnect !== true) call = { ...call, params: encode(reconnect(last), hint) };
          }
        }
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        stop.abort();
      }
    }
    return Object.assign(pending, {
      [Symbol.asyncIterator]() {
        if (isSent) throw new TypeError('the call was sent already');
        isSent = false;
        // Mostly nobody awaits what is iterated.
        pending.catch(() => {});
        return read();
      },
    });
  };
}
