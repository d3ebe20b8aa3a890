import {
  RpcTransportError,
  _a as readReplies,
  _o as resultOf,
  type Send,
  type Transport,
  _r as toRequest,
} from './index.ts';
import { assertNames, UnknownOption } from './option-names.ts';
import { createReadable, type StreamTransportOptions } from './stream.ts';

declare const process: { readonly env: { readonly NODE_ENV?: string } };

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
  readonly error?: unknown;
  readonly result?: unknown;
  /** True in the reply that opens a stream: its result is the name of the subscription. */
  readonly subscription?: boolean;
  readonly method?: string;
  readonly params?: { readonly subscription?: unknown; readonly result?: unknown };
}

/** Who waits for messages: a request, or the stream of a subscription. */
interface Listener {
  /** Of the request. If it ends a subscription, the name of that follows. */
  readonly ids: readonly [number, ...unknown[]];
  onMessage(message: Message): void;
  onLost(error: RpcTransportError): void;
}

/**
 * Sends calls, batches and streams over one WebSocket for each client: `createClient({ url, transport: webSocket() })`. It
 * connects at the first call, and again at the first one after the connection was lost.
 */
export function webSocket(options: WebSocketOptions = {}): SocketTransport {
  try {
    if (process.env.NODE_ENV !== 'production') assertNames('webSocket', options, ['WebSocket']);
  } catch (error) {
    if (error instanceof UnknownOption) throw error;
  }
  let isClosed = false;
  const open = new Set<Socket>();

  const transport: Transport = ({ url }) => {
    let socket: Promise<unknown> | undefined;
    /** What `socket` connects; undefined: the connection was lost. */
    let made: Socket | undefined;
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
    /** How many replies without an id were given to a request. If that was wrong, the reply of its own still comes. */
    let given = 0;
    /** Of the last connection that was lost. */
    let lost: RpcTransportError | undefined;

    const post = (body: string, listener: Listener): void => {
      // The first message may have ended the connection before its opening was heard of here.
      if (!made) listener.onLost(lost as RpcTransportError);
      else {
        for (const id of listener.ids) listeners.set(id, listener);
        [newest] = listener.ids;
        unanswered.add(listener);
        made.send(body);
      }
    };

    const answer = (message: Message, listener: Listener | undefined): void => {
      if (!listener) return;
      unanswered.delete(listener);
      for (const id of listener.ids) listeners.delete(id);
      listener.onMessage(message);
    };

    /** What comes of the subscription meanwhile is dropped. */
    const unsubscribe = (name: unknown): void => {
      const params = JSON.stringify([name]);
      const { sent, body } = toRequest([{ method: 'rpc.unsubscribe', params, notify: false }]);
      const ignore = (): void => {};
      post(body, { ids: [sent[0]?.id as number, name], onMessage: ignore, onLost: ignore });
    };

    /** The reply of an awaited call. A subscription, whose values nobody would read, is ended. */
    const settled = (message: Message | Message[]): unknown => {
      if (Array.isArray(message)) return message.map(settled);
      const { id, result, subscription } = message ?? {};
      if (!subscription) return message;
      unsubscribe(result);
      const data = { reason: 'it streams: iterate the call (for await)' };
      return { id, error: { code: -32601, message: 'Method not found', data } };
    };

    /** If there are no more requests than replies that they can have, each request has one. */
    const assign = (): boolean =>
      unnamed.some(([, last], i) => {
        const waiting = [...unanswered].filter(({ ids: [id] }) => id <= last);
        if (waiting.length > i + 1) return false;
        for (const [message] of unnamed.splice(0, i + 1)) {
          given++;
          answer(message, waiting.shift());
        }
        return assign() || true;
      });

    const connect = (): Promise<unknown> => {
      socket ??= new Promise((resolve, reject) => {
        if (isClosed) throw new RpcTransportError('the client was closed', { url });
        if (options.WebSocket === undefined && typeof WebSocket === 'undefined') {
          throw new TypeError(
            'Node has a WebSocket from 22 on: give webSocket({ WebSocket }) that of the package ws',
          );
        }
        const own = new (options.WebSocket ?? WebSocket)(url.replace(/^http/, 'ws'));
        made = own;
        open.add(own);
        let why = 'the connection closed';
        own.onopen = resolve;
        const lose = (reason: string, facts: object): void => {
          own.onmessage = own.onclose = null;
          socket = made = undefined;
          open.delete(own);
          lost = new RpcTransportError(reason, { url, ...facts });
          reject(lost);
          for (const listener of listeners.values()) listener.onLost(lost);
          listeners.clear();
          unanswered.clear();
          unnamed.length = given = 0;
        };
        own.onmessage = ({ data }: { readonly data: string }) => {
          try {
            const message = JSON.parse(data) as Message;
            const { id, method, params }: Message = Array.isArray(message) ? message[0] : message;
            const listener = listeners.get(method ? String(params?.subscription) : id);
            if (method) listener?.onMessage(message);
            else if (id === null) unnamed.push([message, newest]);
            // Who has given up waiting listens too, until the reply has come.
            else if (listener || (id && given-- > 0)) answer(message, listener);
            else throw id;
            assign();
          } catch {
            // Nobody can know what it answers.
            lose('a message is no JSON-RPC, or has an unknown id', { body: `${data}` });
            own.close();
          }
        };
        own.onerror = ({ message }: { readonly message?: string }) => {
          why = message || why;
        };
        own.onclose = (cause: { readonly code: number }) =>
          lose(`${why} (${cause.code})`, { cause });
      });
      return socket;
    };

    const send: Send = async ({ sent, body }, signal) => {
      await connect();
      signal.throwIfAborted();
      const [first, ...others] = sent.flatMap(({ id }) => id ?? []);
      const reply = await new Promise<unknown>((resolve, reject) => {
        if (!first) {
          made?.send(body);
          return resolve('');
        }
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        const onMessage = (message: Message): void => resolve(settled(message));
        post(body, { ids: [first, ...others], onMessage, onLost: reject });
      });
      return { reply, facts: { url } };
    };

    const readable = createReadable(async function* (call, signal) {
      await connect();
      signal.throwIfAborted();
      const { sent, body } = toRequest([call]);
      const id = sent[0]?.id;
      let messages: Message[] = [];
      let subscription: string | undefined;
      let failure: unknown;
      let wake = (): void => {};
      const leave = (): void => {
        unsubscribe(subscription);
        subscription = undefined;
      };
      const listener: Listener = {
        ids: [id as number],
        onMessage(message) {
          const { result } = message;
          // A subscription begins with its reply, and its first values may come in the same turn.
          if (message.subscription) {
            subscription = result as string;
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
        post(body, listener);
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
