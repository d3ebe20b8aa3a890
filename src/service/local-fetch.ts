import { badTimeoutReason, parseTimeout } from '../dispatch/timeout-header.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorReply } from '../jsonrpc/reply.ts';
import type { DispatchOptions } from './dispatcher-options.ts';

/** The standard `fetch`, for requests to one JSON-RPC path: HTTP without a socket. */
export type LocalFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What a request says by its headers. */
export type LocalFacts = Pick<
  DispatchOptions,
  'headers' | 'signal' | 'timeoutMs' | 'traceparent' | 'tracestate'
>;

const jsonType = { 'content-type': 'application/json' };

/**
 * Makes a `fetch` that hands the body of each POST to a function in this process. The URL must be absolute; nothing else is
 * read from it. The response is that of docs/protocol.md: 200 with the reply, 204 where there is none, 405 for other
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
    if (Number.isNaN(timeoutMs)) return refusal(badTimeoutReason);
    const reply = await handle(await request.text(), {
      headers: seen(headers, names),
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

function seen(headers: Headers, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value;
  }
  return kept;
}

function refusal(reason: string): Response {
  const body = errorReply('null', ErrorCode.InvalidRequest, { reason });
  return new Response(body, { status: 400, headers: jsonType });
}
