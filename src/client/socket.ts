import {
  RpcTransportError,
  _a as readReplies,
  _o as resultOf,
  type Send,
  type Transport,
  _r as toRequest,
} from './index.ts';
import { createReadable, type StreamTransportOptions } from './stream.ts';

/** The part of a WebSocket that is used here. Browsers, Node from 22 on and the package ws have such a class. */
export interface SocketClass {
  new (url: string): Socket;
}

export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}

export interface WebSocketOptions extends StreamTransportOptions {
  /** Default: the global one. */
  readonly WebSocket?: SocketClass | undefined;
}

/** A transport that has a connection. */
export interface SocketTransport extends Transport {
  /** Ends the connection for good: what waits, and whatever comes, fails with an RpcTransportError. */
  close(): void;
}

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly method?: string;
  readonly params?: { readonly subscription?: unknown; readonly result?: unknown };
}

/** Who waits for messages: the call of an id, or the stream of a subscription. */
interface Listener {
  onMessage(message: Message): void;
  onLost(error: RpcTransportError): void;
}

/**
 * Sends calls, batches and streams over one WebSocket for each client: `createClient({ url, transport: webSocket() })`. It
 * connects at the first call, and again at the first one after the connection was lost.
 */
export function webSocket(options: WebSocketOptions = {}): SocketTransport {
  let isClosed = false;
  const open = new Set<Socket>();

  const transport: Transport = ({ url }) => {
    let socket: Promise<Socket> | undefined;
    /** By the id of a request, a number, and by that of a subscription, a text. */
    const listeners = new Map<unknown, Listener>();

    const connect = (): Promise<Socket> => {
      socket ??= new Promise((resolve, reject) => {
        if (isClosed) throw new RpcTransportError('the client was closed', { url });
        const made = new (options.WebSocket ?? WebSocket)(url.replace(/^http/, 'ws'));
        open.add(made);
        let why = 'the connection closed';
        made.onopen = () => resolve(made);
        made.onmessage = ({ data }: { readonly data: string }) => {
          const message = JSON.parse(data) as Message | Message[];
          const { id, params } = Array.isArray(message) ? (message[0] ?? {}) : message;
          listeners.get(params?.subscription ?? id)?.onMessage(message as Message);
        };
        made.onerror = ({ message }: { readonly message?: string }) => {
          why = message || why;
        };
        made.onclose = (cause: { readonly code: number }) => {
          socket = undefined;
          open.delete(made);
          const error = new RpcTransportError(`${why} (${cause.code})`, { url, cause });
          reject(error);
          for (const listener of listeners.values()) listener.onLost(error);
          listeners.clear();
        };
      });
      return socket;
    };

    const send: Send = async ({ sent, body }, signal) => {
      const made = await connect();
      signal.throwIfAborted();
      const ids = sent.flatMap(({ id }) => id ?? []);
      const answer = new Promise<unknown>((resolve, reject) => {
        for (const id of ids) listeners.set(id, { onMessage: resolve, onLost: reject });
        if (ids.length === 0) resolve('');
        signal.addEventListener('abort', () => reject(signal.reason));
      });
      made.send(body);
      try {
        return { reply: await answer, facts: { url } };
      } finally {
        for (const id of ids) listeners.delete(id);
      }
    };

    const readable = createReadable(async function* (call, signal) {
      const made = await connect();
      signal.throwIfAborted();
      const { sent, body } = toRequest([call]);
      const id = sent[0]?.id;
      let messages: Message[] = [];
      let subscription: string | undefined;
      let failure: unknown;
      let wake = (): void => {};
      /** @returns JSON text of the params that end it; undefined: there is nothing to end */
      const forget = (): string | undefined => {
        const params = subscription && JSON.stringify([subscription]);
        listeners.delete(id);
        listeners.delete(subscription);
        subscription = undefined;
        return params;
      };
      const leave = (): void => {
        const params = forget();
        if (params)
          made.send(toRequest([{ method: 'rpc.unsubscribe', params, notify: false }]).body);
      };
      const listener: Listener = {
        onMessage(message) {
          const { result } = message;
          // A subscription begins with its reply, and its first values may come in the same turn.
          if (
            message.id !== undefined &&
            typeof result === 'string' &&
            /^0x[\da-f]+$/.test(result)
          ) {
            subscription = result;
            listeners.set(result, listener);
            if (signal.aborted) leave();
            return;
          }
          messages.push(message);
          wake();
        },
        onLost(error) {
          failure = error;
          subscription = undefined;
          wake();
        },
      };
      listeners.set(id, listener);
      signal.addEventListener('abort', () => {
        failure = signal.reason;
        if (subscription) leave();
        wake();
      });
      made.send(body);
      for (;;) {
        const read = messages;
        messages = [];
        for (const message of read) {
          const { method, params } = message;
          if (method !== undefined && method !== 'rpc.end') yield params?.result;
          else {
            forget();
            return resultOf(
              readReplies(sent, { reply: { ...message, ...params, id }, facts: { url } }),
            );
          }
        }
        if (messages.length > 0) continue;
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }, options.wait);

    return { send, readable };
  };

  return Object.assign(transport, {
    close() {
      isClosed = true;
      for (const made of open) made.close();
    },
  });
}
