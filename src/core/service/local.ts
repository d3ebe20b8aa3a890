import type { RequestScope } from '../dispatch/scope.ts';
import { badTimeoutReason, parseTimeout } from '../dispatch/scope.ts';
import { PullReader } from '../dispatch/streams/readers.ts';
import { ErrorCode, RpcError } from '../protocol/errors.ts';
import { errorReply, type Reply, textOfReply } from '../protocol/reply.ts';
import type { DispatchOptions } from './context.ts';

/** The standard `fetch`, for requests to one JSON-RPC path: HTTP without a socket. */
export type LocalFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

type LocalFacts = Pick<
  DispatchOptions,
  'headers' | 'signal' | 'timeoutMs' | 'traceparent' | 'tracestate'
>;

const jsonType = { 'content-type': 'application/json' };

/**
 * Makes a `fetch` that hands the body of each POST to a function in this process. The URL must be absolute; nothing else is
 * read from it. The response is that of docs/protocol.md: 200 with the reply, 204 if there is none, 405 for other
 * methods, 400 for a header that can't be.
 *
 * @param handle JSON text in, JSON text out; undefined: there is nothing to answer
 * @param forwardHeaders which headers of a request its procedures may see
 */
export function createFetch(
  handle: (body: string, facts: LocalFacts) => Promise<string | undefined>,
  forwardHeaders: readonly string[],
): LocalFetch {
  const names = forwardHeaders.map((name) => name.toLowerCase());
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, headers, signal } = request;
    signal.throwIfAborted();
    if (method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const limit = headers.get('rpc-timeout-ms');
    const timeoutMs = limit === null ? undefined : parseTimeout(limit);
    if (Number.isNaN(timeoutMs)) {
      const reason = errorReply('null', ErrorCode.InvalidRequest, { reason: badTimeoutReason });
      return new Response(reason, { status: 400, headers: jsonType });
    }
    const seen = names.flatMap((name): [string, string][] => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const reply = await handle(await request.text(), {
      headers: Object.fromEntries(seen),
      signal,
      timeoutMs,
      traceparent: headers.get('traceparent') ?? undefined,
      tracestate: headers.get('tracestate') ?? undefined,
    });
    signal.throwIfAborted();
    if (reply === undefined) return new Response(null, { status: 204 });
    return new Response(reply, { headers: jsonType });
  };
}

interface Ended {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * Reads the stream of one call in the same process.
 *
 * @param call runs the request with the reader as its host
 * @param signal ends the stream
 * @returns yields the values, returns what the stream returned; a call that does not stream yields nothing
 * @throws RpcError if the call fails, or the stream ends with an error
 */
export async function* readStream(
  call: (reader: PullReader) => Promise<Reply>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, unknown, undefined> {
  const reader = new PullReader();
  const reply = await call(reader);
  if (!reader.hasOpened) {
    const text = textOfReply(reply);
    return text === undefined ? undefined : resultOf(JSON.parse(text) as Ended);
  }
  const onAbort = (): void => reader.abort();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) reader.abort();
  try {
    for (;;) {
      const step = await reader.next();
      if (typeof step !== 'string') {
        const value: unknown = JSON.parse(step.text);
        return resultOf(step.ok ? { result: value } : ({ error: value } as Ended));
      }
      yield JSON.parse(step) as unknown;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    reader.cancel();
  }
}

function resultOf({ result, error }: Ended): unknown {
  if (error === undefined) return result;
  throw new RpcError(error.code, error.message, error.data);
}

/** Runs a request whose caller goes when `signal` aborts. */
export async function runScope<T>(
  scope: RequestScope,
  signal: AbortSignal | undefined,
  run: (scope: RequestScope) => Promise<T>,
): Promise<T> {
  if (signal === undefined) return run(scope);
  const onAbort = (): void => scope.cancel();
  if (signal.aborted) scope.cancel();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await run(scope);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
