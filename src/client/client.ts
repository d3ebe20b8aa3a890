import { collect } from './collect.ts';
import type { Contract } from './contract.ts';
import { type Call, createExchange, type Fetch, type HeadersSource } from './exchange.ts';
import type { Outcome } from './outcome.ts';
import { createProxy } from './proxy.ts';
import { run } from './run.ts';
import type { CallOptions, Client } from './types.ts';

export interface ClientOptions {
  /** Of the JSON-RPC path, e.g. `https://example.com/rpc`; in browsers it may be relative. */
  readonly url: string | URL;
  /** Sent with each request; a function is asked anew for each, retries too. */
  readonly headers?: HeadersSource | (() => HeadersSource | Promise<HeadersSource>);
  /** Milliseconds a call may take, retries included. Default: the server's limit, and none here. */
  readonly timeoutMs?: number | undefined;
  /** How many times more a call is sent that may be sent again. Default: 2. */
  readonly retries?: number | undefined;
  /** In place of the global fetch. */
  readonly fetch?: Fetch | undefined;
  /** Send the calls of one turn of the event loop as batches of up to `max`. Default: each by itself. */
  readonly batch?: { readonly max: number } | undefined;
}

const defaultRetries = 2;

/**
 * A typed client of a JSON-RPC 2.0 server over HTTP: `client.math.add({ a: 1, b: 2 })`. Opens nothing and
 * needs no closing.
 *
 * A call rejects with RpcError, RpcTransportError, the reason of its signal, what `headers` throws, or the
 * TypeError of params that JSON can't hold.
 */
export function createClient<C extends Contract<C> = Contract>(options: ClientOptions): Client<C> {
  const { batch: automatic, timeoutMs = Infinity, retries = defaultRetries } = options;
  const exchange = createExchange({ ...options, url: String(options.url) });
  const collected = automatic === undefined ? exchange : collect(exchange, automatic.max);

  const send = (calls: readonly Call[], own: CallOptions = {}): Promise<Outcome[]> =>
    // Calls that came as one batch stay one.
    run(calls.length === 1 ? collected : exchange, calls, {
      signal: own.signal,
      timeoutMs: own.timeoutMs ?? timeoutMs,
      retries: own.retries ?? retries,
      idempotent: own.idempotent === true,
    });
  const sendOne = async (call: Call, own?: CallOptions): Promise<unknown> => {
    const [outcome] = await send([call], own);
    if (outcome?.ok) return outcome.result;
    throw outcome?.error;
  };
  const methods = {
    call: async (method: string, params?: unknown, own?: CallOptions) =>
      sendOne(toCall(method, params), own),
    notify: async (method: string, params?: unknown, own?: CallOptions) => {
      await sendOne({ ...toCall(method, params), notify: true }, own);
    },
    batch: async (calls: readonly (readonly [string, unknown?])[], own?: CallOptions) =>
      calls.length === 0
        ? []
        : send(
            calls.map((call) => toCall(...call)),
            own,
          ),
  };
  // The contract exists in types only; the proxy does for every name what they say of each.
  return createProxy(methods, (name, [params, own]) =>
    methods.call(name, params, own as CallOptions | undefined),
  ) as Client<C>;
}

/** The params become text now: what the caller does with them later doesn't count. */
function toCall(method: string, params: unknown): Call {
  return { method, params: JSON.stringify(params), notify: false };
}
