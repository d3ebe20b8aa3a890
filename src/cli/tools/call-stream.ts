import { type Bytes, eventsOf } from '../../client/event-lines.ts';
import { RpcError } from '../../client/outcome.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { memberText } from './json-text.ts';
import { readText } from './limited-fetch.ts';
import type { RemoteOptions } from './remote.ts';

/** How a call ended whose values were given before. */
export type StreamEnd =
  | { readonly ok: true /** JSON text. */; readonly result: string }
  | { readonly ok: false; readonly error: Error };

/**
 * Calls a procedure that streams, over server-sent events. Where the server answers with one reply, that is the end.
 *
 * @param onValue called with the JSON text of each value, as the server wrote it; the next one is read when it resolves
 * @param params JSON text
 * @param signal ends the stream
 */
export async function callStream(
  url: string,
  { method, params }: { readonly method: string; readonly params: string | undefined },
  { headers, timeoutMs }: RemoteOptions,
  onValue: (text: string) => Promise<void>,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const head = new Headers(headers);
  head.set('content-type', 'application/json');
  head.set('accept', 'text/event-stream, application/json');
  if (timeoutMs !== undefined) head.set('rpc-timeout-ms', String(timeoutMs));
  const paramsText = params === undefined ? '' : `,"params":${params}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)}${paramsText}}`;
  const leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort(), { once: true });
  try {
    const own = { headers: head, body, redirect: 'manual', signal: leave.signal } as const;
    const response = await fetch(url, { method: 'POST', ...own });
    const type = response.headers.get('content-type') ?? '';
    if (!/^text\/event-stream(?:;|$)/i.test(type)) {
      return endOf(method, await readText(response), `${response.status} ${type}`);
    }
    for await (const text of response.body === null ? [] : boundedEventsOf(response.body)) {
      const { params: brought } = JSON.parse(text) as { readonly params?: unknown };
      if (brought === undefined) return endOf(method, text, 'the last event');
      await onValue(memberText(memberText(text, 'params') ?? '{}', 'result') ?? 'null');
    }
    throw new Error('the connection ended without the last event');
  } catch (cause) {
    const { message, cause: inner } = cause as Error;
    const why = inner instanceof Error ? `${message}: ${inner.message}` : message;
    return { ok: false, error: new StartupError(`POST ${url}: ${why}`, { cause }) };
  } finally {
    leave.abort();
  }
}

interface ReplyMembers {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * What a reply says of the end of a call, or the params of an `rpc.end`, which have the same members.
 *
 * @throws Error where the text is neither; it begins with `where`
 */
export function endOf(method: string, text: string, where: string): StreamEnd {
  let reply: ReplyMembers | null;
  try {
    reply = JSON.parse(text) as ReplyMembers | null;
  } catch {
    throw new Error(`${where}: no JSON: ${text.slice(0, 200)}`);
  }
  const { result, error } = reply ?? {};
  if (result !== undefined) return { ok: true, result: memberText(text, 'result') ?? 'null' };
  if (typeof error?.code !== 'number' || typeof error.message !== 'string') {
    throw new Error(`${where}: no reply: ${text.slice(0, 200)}`);
  }
  return { ok: false, error: new RpcError(error.code, error.message, error.data, method) };
}

/** Bytes of one event. */
const longest = 64 * 1024 * 1024;

/**
 * The data of each server-sent event, as it comes. A server that never ends an event is cut.
 *
 * @param most bytes that may come without an event
 * @throws Error for an event that is longer
 */
export async function* boundedEventsOf(
  stream: Bytes,
  most: number = longest,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  let bytes = 0;
  const read = async () => {
    const piece = await reader.read();
    bytes += piece.value?.length ?? 0;
    if (bytes > most) throw new Error(`an event is longer than ${most} bytes`);
    return piece;
  };
  for await (const event of eventsOf({ getReader: () => ({ read }) })) {
    bytes = 0;
    yield event;
  }
}
