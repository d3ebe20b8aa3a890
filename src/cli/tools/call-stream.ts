import { on, once } from 'node:events';
import { type Bytes, eventsOf } from '../../client/event-lines.ts';
import { type Call, toRequest } from '../../client/exchange.ts';
import { RpcError } from '../../client/outcome.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { memberText } from './json-text.ts';
import { fetchDocument, isRegistry, type RemoteOptions, readText } from './remote.ts';

/** How a call ended whose values were given before. */
export type StreamEnd =
  | { readonly ok: true /** JSON text. */; readonly result: string }
  | { readonly ok: false; readonly error: Error };

/** Called with the JSON text of each value, as the server wrote it. The next one is read when it resolves. */
type OnValue = (text: string) => Promise<void>;

/**
 * Calls a procedure that streams, over server-sent events. If the server answers with one reply, that is the end.
 *
 * @param signal ends the stream
 */
export async function callStream(
  url: string,
  call: Call,
  { headers, timeoutMs }: RemoteOptions,
  onValue: OnValue,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const head = new Headers(headers);
  head.set('content-type', 'application/json');
  head.set('accept', 'text/event-stream, application/json');
  if (timeoutMs !== undefined) head.set('rpc-timeout-ms', String(timeoutMs));
  const leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort(), { once: true });
  try {
    const { body } = toRequest([call]);
    const own = { headers: head, body, redirect: 'manual', signal: leave.signal } as const;
    const response = await fetch(url, { method: 'POST', ...own });
    const type = response.headers.get('content-type') ?? '';
    if (!/^text\/event-stream(?:;|$)/i.test(type)) {
      return endOf(call, await readText(response), `${response.status} ${type}`);
    }
    for await (const text of response.body === null ? [] : boundedEventsOf(response.body)) {
      const { params } = JSON.parse(text) as { readonly params?: unknown };
      if (params === undefined) return endOf(call, text, 'the last event');
      await onValue(valueIn(memberText(text, 'params')));
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

/** A server that is there answers the upgrade at once. */
const handshakeMs = 30_000;

/**
 * Makes one call over a WebSocket of its own. If the procedure streams, its values are read to the end.
 *
 * @param signal ends the subscription
 * @returns undefined for a notification, and if the signal aborted
 */
export async function callSocket(
  url: string,
  call: Call,
  options: RemoteOptions,
  onValue: OnValue,
  signal: AbortSignal,
): Promise<StreamEnd | undefined> {
  const { default: Socket } = await import('ws');
  const { headers, timeoutMs } = options;
  const limit = timeoutMs === undefined ? {} : { 'rpc-timeout-ms': String(timeoutMs) };
  const socket = new Socket(url, {
    headers: { ...headers, ...limit },
    perMessageDeflate: false,
    handshakeTimeout: timeoutMs ?? handshakeMs,
  });
  let closeCode: number | undefined;
  socket.once('close', (code: number) => {
    closeCode = code;
  });
  try {
    // While a value is worked on, the socket is not read: a slow reader holds the stream up.
    const messages = on(socket, 'message', { signal, close: ['close'], highWaterMark: 1 });
    await once(socket, 'open');
    socket.send(toRequest([call]).body);
    if (call.notify) return undefined;
    for await (const [data] of messages) {
      const text = String(data);
      const { id, method, result } = JSON.parse(text) as Message;
      if (id !== undefined) {
        if (await isSubscription(url, call.method, result, options)) continue;
        return endOf(call, text, 'the reply');
      }
      const params = memberText(text, 'params');
      if (method === 'rpc.end') return endOf(call, params ?? '{}', 'the end of the stream');
      await onValue(valueIn(params));
    }
    throw new Error(`the connection closed (${closeCode})`);
  } catch (cause) {
    if (signal.aborted) return undefined;
    const error = new StartupError(`${url}: ${(cause as Error).message}`, { cause });
    return { ok: false, error };
  } finally {
    socket.close();
    // A socket that is paused would not read the server's goodbye, and hold the process until its timer ends it.
    socket.removeAllListeners('message');
    socket.resume();
  }
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/**
 * Whether a reply is the id of a subscription whose values follow. Any procedure may return such a text, so the server's
 * document is asked; a server without one is taken to stream.
 */
async function isSubscription(
  url: string,
  method: string,
  result: unknown,
  options: RemoteOptions,
): Promise<boolean> {
  if (typeof result !== 'string' || !/^0x[\da-f]+$/.test(result)) return false;
  try {
    const document = await fetchDocument(url.replace(/^ws/i, 'http'), 'tandem', options);
    if (!isRegistry(document?.value)) return true;
    return document.value[method]?.stream !== undefined;
  } catch {
    return true;
  }
}

/** The value that a notification's params bring. */
function valueIn(params: string | undefined): string {
  return memberText(params ?? '{}', 'result') ?? 'null';
}

interface ReplyMembers {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/**
 * What a reply says of the end of a call, or the params of an `rpc.end`, which have the same members.
 *
 * @throws Error if the text is neither; it begins with `where`
 */
function endOf({ method }: Call, text: string, where: string): StreamEnd {
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
