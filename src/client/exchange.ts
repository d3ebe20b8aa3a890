import { RpcTransportError, type TransportFacts } from './errors.ts';
import type { Outcome } from './outcome.ts';
import { readReplies, type Sent } from './reply.ts';

/** The part of fetch that the client uses. The global fetch has this type. */
export type Fetch = (
  url: string,
  init: {
    readonly method: 'POST';
    readonly headers: Headers;
    readonly body: string;
    readonly signal: AbortSignal;
    readonly redirect: 'manual';
  },
) => Promise<FetchResponse>;

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export type HeadersSource = ConstructorParameters<typeof Headers>[0];

export interface Endpoint {
  readonly url: string;
  readonly headers?: HeadersSource | (() => HeadersSource | Promise<HeadersSource>);
  readonly fetch?: Fetch | undefined;
}

export interface Call {
  readonly method: string;
  /** JSON text; undefined: no params. */
  readonly params: string | undefined;
  /** True: a notification. It is sent without an id and gets no reply. */
  readonly notify: boolean;
}

/**
 * Sends calls in one request, several calls as a batch. Returns an outcome for each, in the order of the calls.
 *
 * @param expires when the callers stop waiting, by performance.now(); Infinity: never
 * @throws the signal's reason, what `headers` throws
 */
export type Exchange = (
  calls: readonly Call[],
  signal: AbortSignal,
  expires: number,
) => Promise<Outcome[]>;

/** One counter for the whole program, so that an id in a log names one request. */
let lastId = 0;

export function createExchange({ url, headers, fetch: given }: Endpoint): Exchange {
  return async (calls, signal, expires) => {
    const head = new Headers(typeof headers === 'function' ? await headers() : headers);
    signal.throwIfAborted();
    head.set('content-type', 'application/json');
    head.set('accept', 'application/json');
    if (expires < Infinity) {
      head.set('rpc-timeout-ms', `${Math.max(1, Math.ceil(expires - performance.now()))}`);
    }
    const sent = calls.map(toSent);
    const texts = calls.map((call, index) => toText(call, sent[index]?.id));
    const body = texts.length === 1 ? texts.join() : `[${texts.join()}]`;

    let facts: TransportFacts = { url };
    let text = '';
    let failure: string | undefined;
    try {
      // Redirects are not followed: fetch would turn the POST into a GET, or send the headers to another server.
      const init = { method: 'POST', headers: head, body, signal, redirect: 'manual' } as const;
      const response = await (given ?? fetch)(url, init);
      const { status } = response;
      const contentType = response.headers.get('content-type') ?? undefined;
      facts = { url, status, contentType };
      text = await response.text();
      facts = { url, status, contentType, body: text };
      const target = response.headers.get('location');
      // In browsers the status of a redirect is 0, and its target is hidden.
      if (target !== null || status === 0) {
        failure = `redirects are not followed (to ${target ?? 'an unknown address'})`;
      } else if (text === '' && (status < 200 || status >= 300)) {
        failure = 'there is no reply';
      }
    } catch (cause) {
      facts = { ...facts, cause };
      failure = reasonOf(cause);
    }
    if (failure !== undefined) {
      const error = new RpcTransportError(failure, facts);
      return sent.map(() => ({ ok: false, error }));
    }
    return readReplies(sent, text, (why) => new RpcTransportError(why, facts));
  };
}

function toSent({ method, notify }: Call): Sent {
  return { method, id: notify ? undefined : ++lastId };
}

function toText({ method, params }: Call, id: number | undefined): string {
  const idText = id === undefined ? '' : `"id":${id},`;
  const paramsText = params === undefined ? '' : `,"params":${params}`;
  return `{"jsonrpc":"2.0",${idText}"method":${JSON.stringify(method)}${paramsText}}`;
}

/** The message of the error, and that of its cause: Node's fetch says only "fetch failed". */
function reasonOf(thrown: unknown): string {
  const inner = messageOf((thrown as Partial<Error> | null)?.cause);
  return `${messageOf(thrown) ?? String(thrown)}${inner ? `: ${inner}` : ''}`;
}

function messageOf(error: unknown): string | undefined {
  return (error as Partial<Error> | null | undefined)?.message;
}
