import type { Contract } from './contract.ts';
import {
  type Call,
  createExchange,
  type Fetch,
  type HeadersSource,
  post,
  type Readable,
  resultOf,
  type StreamCallOptions,
  type Transport,
} from './exchange.ts';
import { decode, encode, type Hints } from './hints.ts';
import { assertCall, assertNames, UnknownOption } from './option-names.ts';
import type { Outcome } from './outcome.ts';
import { collect, run } from './run.ts';
import type { CallOptions, Client } from './types.ts';

declare const process: { readonly env: { readonly NODE_ENV?: string } };

export interface ClientOptions {
  /** The URL of the JSON-RPC path, e.g. `https://example.com/rpc`; in browsers it may be relative. */
  readonly url: string | URL;
  /** Headers of each request. A function is called for each request, and for each retry. */
  readonly headers?: HeadersSource | (() => HeadersSource | Promise<HeadersSource>);
  /**
   * Gives the `traceparent` of the current span (W3C Trace Context), which each HTTP request has as a header. Called when a call or
   * a batch is made; its retries have the same. What is undefined or invalid is not sent, nor is anything over a WebSocket.
   */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** Milliseconds that a call may take, retries included. Default: no limit here; the server's own limit holds. */
  readonly timeoutMs?: number | undefined;
  /** How many times a failed call is sent again, if sending it again is safe. Default: 2. */
  readonly retries?: number | undefined;
  /** Used instead of the global fetch. */
  readonly fetch?: Fetch | undefined;
  /** What `tandem codegen` writes beside the contract: which calls may be repeated, and where there are bytes. */
  readonly hints?: Hints | undefined;
  /** Send the calls of one turn of the event loop together, as batches of up to `max`. Default: one request a call. */
  readonly batch?: { readonly max: number } | undefined;
  /** How streams are read where calls are POSTs: `sse()` of tandem-rpc/client/sse. */
  readonly streams?: Transport | undefined;
  /** How calls and streams travel, instead of fetch: `webSocket()` of tandem-rpc/client/socket. */
  readonly transport?: Transport | undefined;
}

/** The options of a client that can't iterate streams. */
export interface ClientOptionsWithoutStreams extends ClientOptions {
  readonly streams?: undefined;
  readonly transport?: undefined;
}

type Own = CallOptions & StreamCallOptions;

/** Calls of a client that can't read streams. Iterating one throws an error that says what to add; the call is not sent. */
const unread: Readable = (start, send) => {
  let failure: TypeError | undefined;
  const pending = start.then((call) => {
    if (failure) throw failure;
    return send(call);
  });
  return Object.assign(pending, {
    [Symbol.asyncIterator]() {
      // Nobody awaits a call that is iterated: its rejection would end a Node process.
      pending.catch(() => {});
      failure = new TypeError('to iterate, add streams: sse() to createClient');
      throw failure;
    },
  });
};

/**
 * Creates a typed client of a JSON-RPC 2.0 server over HTTP: `client.math.add({ a: 1, b: 2 })`. The client opens no
 * connection of its own, so there is nothing to close.
 *
 * A call rejects with an RpcError, an RpcTransportError, the reason of its signal, what `headers` or `traceparent` throws, or the
 * TypeError of params that JSON can't hold.
 */
export function createClient<C extends Contract<C> = Contract>(
  options: ClientOptionsWithoutStreams,
): Client<C, false>;
export function createClient<C extends Contract<C> = Contract>(options: ClientOptions): Client<C>;
export function createClient(options: ClientOptions): unknown {
  const { batch: automatic, timeoutMs = Infinity, retries = 2, hints } = options;
  try {
    if (process.env.NODE_ENV !== 'production') {
      assertNames('createClient', options, [
        'url',
        'headers',
        'traceparent',
        'timeoutMs',
        'retries',
        'fetch',
        'hints',
        'batch',
        'streams',
        'transport',
      ] satisfies (keyof ClientOptions)[]);
      assertNames('createClient: batch', automatic ?? {}, ['max']);
    }
  } catch (error) {
    if (error instanceof UnknownOption) throw error;
  }
  const endpoint = { ...options, url: String(options.url) };
  const { send, readable } = (options.transport ?? options.streams)?.(endpoint) ?? {};
  const exchange = createExchange(
    send ?? ((request, signal, expires) => post(endpoint, request, signal, expires)),
  );
  const collected = automatic === undefined ? exchange : collect(exchange, automatic.max);

  // Without a prototype, so that only the names in it are found.
  const known = { __proto__: null, ...hints } as unknown as Hints;
  /** Serialises the params at once: the caller may change them after the call, and the current span too. */
  const toCall = (method: string, params: unknown, notify = false, index = 0): Call => {
    return {
      method,
      params: encode(params, known[method]),
      notify,
      traceparent: index ? undefined : options.traceparent?.(),
    };
  };
  const isRepeatable = ({ method }: Call) => known[method]?.readOnly || known[method]?.idempotent;
  const sendAll = async (calls: readonly Call[], own: CallOptions = {}): Promise<Outcome[]> => {
    // An explicit batch is sent as it is: it is not collected into another one.
    const outcomes = await run(calls.length === 1 ? collected : exchange, calls, {
      signal: own.signal,
      timeoutMs: own.timeoutMs ?? timeoutMs,
      retries: own.retries ?? retries,
      idempotent: own.idempotent ?? calls.every(isRepeatable),
    });
    return outcomes.map((outcome, index) => {
      if (!outcome.ok) return outcome;
      return {
        ok: true,
        result: decode(outcome.result, known[(calls[index] as Call).method]?.bytes),
      };
    });
  };
  const begin = (notify: boolean) => (method: string, params?: unknown, own?: Own) => {
    const start = (async () => {
      try {
        if (process.env.NODE_ENV !== 'production') assertCall(method, params, own);
      } catch (error) {
        if (error instanceof UnknownOption) throw error;
      }
      return toCall(method, params, notify);
    })();
    const send = async (call: Call) => resultOf(await sendAll([call], own));
    return (readable ?? unread)(start, send, known[method], own);
  };
  const methods = {
    call: begin(false),
    notify: begin(true),
    batch: async (calls: readonly (readonly [string, unknown?])[], own?: CallOptions) =>
      calls.length === 0
        ? []
        : sendAll(
            calls.map(([method, params], index) => toCall(method, params, false, index)),
            own,
          ),
  };
  // The contract exists only in the types. The proxy accepts every name.
  return createProxy(methods, '', methods.call);
}

/** Handles a call on the proxy: `root.math.add(1)` has the name `math.add` and the params `1`. */
type ProxyCall = (name: string, params?: unknown, own?: Own) => unknown;

/**
 * Gives an object members that lead to procedures: `root.math.add(...)`. What the object at the root has itself, it keeps.
 *
 * @param path the names so far; '' at the root
 */
function createProxy(target: object, path: string, call: ProxyCall): unknown {
  const members = path === '' ? target : {};
  const children = new Map<string, unknown>();
  return new Proxy(target, {
    get(_, key) {
      // `await`, JSON.stringify, templates and debuggers read members of any value. They must find the members of an
      // ordinary object, not a procedure, which they would call.
      if (typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in members) {
        return Reflect.get(target, key);
      }
      let child = children.get(key);
      if (child === undefined) {
        // The target is a function, since only the proxy of a function can be called.
        child = createProxy(() => {}, path === '' ? key : `${path}.${key}`, call);
        children.set(key, child);
      }
      return child;
    },
    apply: (_target, _this, args: [unknown?, Own?]) => call(path, ...args),
  });
}
