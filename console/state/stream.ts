import { createClient, RpcError, RpcTransportError } from '../../src/client/index.ts';
import { sse } from '../../src/client/sse.ts';
import { callsUrl } from '../facts.ts';
import { type Answer, addExchange, changeExchange, type StreamValue } from './exchanges.ts';
import { requestHeaders } from './headers.ts';
import { failureOf, requestText, toAnswer } from './send.ts';

/** Values that are kept of a stream: the last ones. */
const keptValues = 200;

/** Values are shown at most so often, however fast they come. */
const showEveryMs = 50;

/**
 * Calls a procedure that streams, by the package's own client.
 *
 * @param params JSON text; empty: none
 * @returns the number of the exchange, which goes on
 */
export function openStream(method: string, params: string): number {
  const abort = new AbortController();
  const body = requestText(method, params, 1);
  const number = addExchange({
    title: method,
    kind: 'stream',
    method,
    body,
    stop: () => abort.abort(),
  });
  const given: unknown = params === '' ? undefined : JSON.parse(params);
  void read(method, given, abort.signal, number);
  return number;
}

async function read(
  method: string,
  params: unknown,
  signal: AbortSignal,
  number: number,
): Promise<void> {
  const began = performance.now();
  let values: readonly StreamValue[] = [];
  let answer: Answer | undefined;
  const shown = new Throttle(showEveryMs, () => changeExchange(number, { values, answer }));
  const client = createClient({
    url: callsUrl as string,
    headers: requestHeaders(),
    retries: 0,
    streams: sse(),
    fetch: async (input, init) => {
      const response = await fetch(input, init as RequestInit);
      answer = toAnswer(response, '', performance.now() - began);
      return response;
    },
  });
  const finish = (state: 'done' | 'failed' | 'stopped', last: unknown, failure?: string): void => {
    shown.stop();
    const ms = performance.now() - began;
    const text = last === undefined ? '' : JSON.stringify(last);
    const ended = answer && { ...answer, ms, text, bytes: new TextEncoder().encode(text).length };
    changeExchange(number, { state, values, answer: ended, failure, stop: undefined });
  };
  try {
    // Iterated by hand: the value behind the last one is what the procedure returns.
    const iterator = client
      .call(method, params as Record<string, unknown>, { signal })
      [Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await iterator.next();
      if (done === true) {
        finish('done', { jsonrpc: '2.0', id: 1, result: value ?? null });
        return;
      }
      const next = {
        number: (values.at(-1)?.number ?? 0) + 1,
        ms: performance.now() - began,
        value,
      };
      values = [...values.slice(1 - keptValues), next];
      shown.ask();
    }
  } catch (error) {
    if (signal.aborted) finish('stopped', undefined);
    else if (error instanceof RpcError) {
      const { code, message, data } = error;
      finish('done', { jsonrpc: '2.0', id: 1, error: { code, message, data } });
    } else {
      const why = error instanceof RpcTransportError ? error.message : failureOf(error);
      finish('failed', undefined, why);
    }
  }
}

/** Runs a function soon after it was asked for, and not more often than that. */
class Throttle {
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #everyMs: number;
  readonly #run: () => void;

  constructor(everyMs: number, run: () => void) {
    this.#everyMs = everyMs;
    this.#run = run;
  }

  ask(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, this.#everyMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
