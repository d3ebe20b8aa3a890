import { RpcTransportError, type TransportFacts } from './errors.ts';
import type { Outcome } from './outcome.ts';
import { readReplies } from './reply.ts';
import type { Answer, Call, Endpoint, Request } from './request.ts';
import type { Send } from './transport.ts';

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

export function createExchange(send: Send): Exchange {
  return async (calls, signal, expires) => {
    const request = toRequest(calls);
    try {
      return readReplies(request.sent, await send(request, signal, expires));
    } catch (error) {
      if (!(error instanceof RpcTransportError)) throw error;
      return calls.map(() => ({ ok: false, error }));
    }
  };
}

/** One counter for the whole program, so that an id in a log names one request. */
let lastId = 0;

export function toRequest(calls: readonly Call[]): Request {
  const texts: string[] = [];
  const sent = calls.map(({ method, params, notify }) => {
    const id = notify ? undefined : ++lastId;
    const head = JSON.stringify({ jsonrpc: '2.0', id, method });
    texts.push(params === undefined ? head : `${head.slice(0, -1)},"params":${params}}`);
    return { method, id };
  });
  const body = texts.join();
  return { sent, body: calls.length === 1 ? body : `[${body}]` };
}

type Facts = { -readonly [Name in keyof TransportFacts]: TransportFacts[Name] };

/**
 * One POST for a request, with the headers of the client.
 *
 * @param accept what is taken beside JSON, with a comma behind it: a stream of events is given as it is, and not read here
 */
export async function post(
  { url, headers, fetch: given }: Endpoint,
  body: string,
  signal: AbortSignal,
  expires: number,
  accept = '',
): Promise<Answer> {
  const head = new Headers(typeof headers === 'function' ? await headers() : headers);
  signal.throwIfAborted();
  head.set('content-type', 'application/json');
  head.set('accept', `${accept}application/json`);
  if (expires < Infinity) {
    head.set('rpc-timeout-ms', `${Math.max(1, Math.ceil(expires - performance.now()))}`);
  }
  const facts: Facts = { url };
  let failure: string | undefined;
  let reply = '';
  try {
    // Redirects are not followed: fetch would turn the POST into a GET, or send the headers to another server.
    const init = { method: 'POST', headers: head, body, signal, redirect: 'manual' } as const;
    const response = await (given ?? fetch)(url, init);
    const { status, headers: answered } = response;
    facts.status = status;
    facts.contentType = answered.get('content-type') ?? undefined;
    if (accept && facts.contentType?.startsWith('text/event')) {
      return { reply, facts, stream: response.body };
    }
    facts.body = reply = await response.text();
    const target = answered.get('location');
    // In browsers the status of a redirect is 0, and its target is hidden.
    if (target !== null || status === 0) {
      failure = `redirects are not followed (to ${target ?? '?'})`;
    } else if (reply === '' && (status < 200 || status >= 300)) {
      failure = 'there is no reply';
    }
  } catch (cause) {
    facts.cause = cause;
    failure = reasonOf(cause);
  }
  if (failure !== undefined) throw new RpcTransportError(failure, facts);
  return { reply, facts };
}

/** The message of the error, and that of its cause: Node's fetch says only "fetch failed". */
function reasonOf(thrown: unknown): string {
  const inner = messageOf((thrown as Partial<Error> | null)?.cause);
  return `${messageOf(thrown) ?? String(thrown)}${inner ? `: ${inner}` : ''}`;
}

function messageOf(error: unknown): string | undefined {
  return (error as Partial<Error> | null | undefined)?.message;
}
