import type WebSocket from 'ws';
import { StartupError } from '../../base/startup-error.ts';
import { endOf, type StreamEnd } from './call-stream.ts';
import { memberText } from './json-text.ts';
import { isRegistry } from './registry.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';

export interface SocketCall {
  readonly method: string;
  /** JSON text. */
  readonly params: string | undefined;
  readonly notify: boolean;
}

/** A server that is there answers the upgrade at once. */
const handshakeMs = 30_000;

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/**
 * Makes one call over a WebSocket of its own. Of a procedure that streams, the values are read to the end.
 *
 * @param onValue called with the JSON text of each value, as the server wrote it; the next one is read when it resolves
 * @param signal ends the subscription
 * @returns undefined for a notification, and where the signal aborted
 */
export async function callSocket(
  url: string,
  { method, params, notify }: SocketCall,
  options: RemoteOptions,
  onValue: (text: string) => Promise<void>,
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
  const leave = (): void => {
    socket.close();
    // A socket that is paused would not read the server's goodbye, and hold the process until its timer ends it.
    socket.removeAllListeners('message');
    socket.resume();
  };
  try {
    const messages = messagesOf(socket, signal);
    await messages.opened;
    const idText = notify ? '' : '"id":1,';
    const paramsText = params === undefined ? '' : `,"params":${params}`;
    socket.send(`{"jsonrpc":"2.0",${idText}"method":${JSON.stringify(method)}${paramsText}}`);
    if (notify) return undefined;
    for await (const text of messages) {
      const message = JSON.parse(text) as Message;
      if (message.id !== undefined) {
        if (await isSubscription(url, method, message.result, options)) continue;
        return endOf(method, text, 'the reply');
      }
      const brought = memberText(text, 'params') ?? '{}';
      if (message.method === 'rpc.end') return endOf(method, brought, 'the end of the stream');
      await onValue(memberText(brought, 'result') ?? 'null');
    }
    return undefined;
  } catch (cause) {
    const error = new StartupError(`${url}: ${(cause as Error).message}`, { cause });
    return { ok: false, error };
  } finally {
    leave();
  }
}

/** The messages of a socket, one by one: while one is worked on, the socket is not read. */
interface Messages extends AsyncIterable<string> {
  readonly opened: Promise<void>;
}

function messagesOf(socket: WebSocket, signal: AbortSignal): Messages {
  const texts: string[] = [];
  let failure: Error | undefined;
  let isOver = false;
  let wake = (): void => {};
  const fail = (error: Error): void => {
    failure ??= error;
    wake();
  };
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
    socket.once('close', (code: number) => reject(new Error(`the connection closed (${code})`)));
  });
  socket.on('message', (data: Buffer) => {
    texts.push(data.toString());
    socket.pause();
    wake();
  });
  socket.on('error', fail);
  socket.on('close', (code: number) => fail(new Error(`the connection closed (${code})`)));
  signal.addEventListener('abort', () => {
    isOver = true;
    wake();
  });
  async function* read(): AsyncGenerator<string> {
    while (!isOver) {
      const text = texts.shift();
      if (text !== undefined) {
        yield text;
        continue;
      }
      if (failure !== undefined) throw failure;
      socket.resume();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return { opened, [Symbol.asyncIterator]: read };
}

const subscriptionId = /^0x[\da-f]+$/;

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
  if (typeof result !== 'string' || !subscriptionId.test(result)) return false;
  try {
    const document = await fetchDocument(url.replace(/^ws/i, 'http'), 'tandem', options);
    if (!isRegistry(document?.value)) return true;
    return document.value[method]?.stream !== undefined;
  } catch {
    return true;
  }
}
