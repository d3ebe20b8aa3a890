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

/** Who waits for messages: a request, or the stream of a subscription. */
interface Listener {
  /** Of the request. */
  readonly ids: readonly number[];
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
    /** Whose reply has not come, the oldest first. One that nobody waits for any more stays too. */
    const unanswered = new Set<Listener>();
    /**
     * Replies with the id null, each with the newest request of its time: the server refused a request as a whole, and could
     * not say which. It is one of those without a reply. The others get replies of their own.
     */
    const unnamed: (readonly [message: Message, newest: number])[] = [];
    let newest = 0;

    const post = (made: Socket, body: string, listener: Listener): void => {
      for (const id of listener.ids) {
        listeners.set(id, listener);
        newest = id;
      }
      unanswered.add(listener);
      made.send(body);
    };

    const answer = (message: Message, listener: Listener | undefined): void => {
      if (!listener) return;
      unanswered.delete(listener);
      for (const id of listener.ids) listeners.delete(id);
      listener.onMessage(message);
    };

    /** Where there are no more requests than replies that they can have, each request has one. */
    const assign = (): boolean =>
      unnamed.some(([, last], i) => {
        const waiting = [...unanswered].filter(({ ids: [id = 0] }) => id <= last);
        if (waiting.length > i + 1) return false;
        for (const [message] of unnamed.splice(0, i + 1)) answer(message, waiting.shift());
        return assign() || true;
      });

    const connect = (): Promise<Socket> => {
      socket ??= new Promise((resolve, reject) => {
        if (isClosed) throw new RpcTransportError('the client was closed', { url });
        const made = new (options.WebSocket ?? WebSocket)(url.replace(/^http/, 'ws'));
        open.add(made);
        let why = 'the connection closed';
        made.onopen = () => resolve(made);
        made.onmessage = ({ data }: { readonly data: string }) => {
          const message = JSON.parse(data) as Message;
          const { id, params }: Message = Array.isArray(message) ? (message[0] ?? {}) : message;
          if (id === null) unnamed.push([message, newest]);
          else if (id === undefined) listeners.get(params?.subscription)?.onMessage(message);
          else answer(message, listeners.get(id));
          assign();
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
          unanswered.clear();
          unnamed.length = 0;
        };
      });
      return socket;
    };

    const send: Send = async ({ sent, body }, signal) => {
      const made = await connect();
      signal.throwIfAborted();
      const ids = sent.flatMap(({ id }) => id ?? []);
      if (ids.length === 0) {
        made.send(body);
        return { reply: '', facts: { url } };
      }
      const reply = await new Promise<unknown>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        post(made, body, { ids, onMessage: resolve, onLost: reject });
      });
      return { reply, facts: { url } };
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
      const leave = (): void => {
        const params = JSON.stringify([subscription]);
        listeners.delete(subscription);
        subscription = undefined;
        made.send(toRequest([{ method: 'rpc.unsubscribe', params, notify: false }]).body);
      };
      const listener: Listener = {
        ids: [id as number],
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
      const abort = (): void => {
        failure = signal.reason;
        if (subscription) leave();
        wake();
      };
      signal.addEventListener('abort', abort);
      try {
        post(made, body, listener);
        for (;;) {
          const read = messages;
          messages = [];
          for (const message of read) {
            const { method, params } = message;
            if (method !== undefined && method !== 'rpc.end') yield params?.result;
            else {
              listeners.delete(subscription);
              subscription = undefined;
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
      } finally {
        signal.removeEventListener('abort', abort);
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
