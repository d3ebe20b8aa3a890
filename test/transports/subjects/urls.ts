import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpApi } from '../../../src/extras/openapi/http-api.ts';
import { post, RawClient, type RawResponse } from '../../http/raw-client.ts';
import type { Connection, SentFacts, Server, Subject } from '../subject.ts';
import { headersOf, optionsOf, type WayIn, waysIn } from './http.ts';
import { piecesOf } from './pieces.ts';

/** A call that a URL stands for. */
interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params?: object;
}

/** The call of a message; undefined: no URL stands for it, such as a batch, a notification, params by their order. */
function callOf(message: string | Uint8Array): Call | undefined {
  if (typeof message !== 'string') return undefined;
  let parsed: Partial<Record<'jsonrpc' | 'id' | 'method' | 'params', unknown>> | null;
  try {
    parsed = JSON.parse(message) as typeof parsed;
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const { jsonrpc = '2.0', id, method, params = {} } = parsed;
  // An id that JSON.parse has changed can't be told as it was written.
  const isId = id === null || typeof id === 'string' || Number.isSafeInteger(id);
  const isNamed = typeof params === 'object' && params !== null && !Array.isArray(params);
  const isCall = jsonrpc === '2.0' && isId && isNamed && typeof method === 'string';
  return isCall && /^[\w./:-]+$/.test(method) ? { id, method, params } : undefined;
}

/** The JSON-RPC reply that an answer stands for. */
function replyOf(id: unknown, { status, body }: RawResponse): string {
  const idText = JSON.stringify(id);
  const text = body.toString();
  if (status === 204) return `{"jsonrpc":"2.0","id":${idText},"result":null}`;
  if (status === 200) return `{"jsonrpc":"2.0","id":${idText},"result":${text}}`;
  const { code, title, data } = JSON.parse(text) as {
    readonly code: number;
    readonly title: string;
    readonly data?: unknown;
  };
  // In JSON-RPC what is no JSON has no id, and no reason.
  return code === -32700
    ? JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message: title } })
    : JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: title, data } });
}

class UrlConnection implements Connection {
  readonly #client: RawClient;
  /** Of the calls whose answers have not come. */
  readonly #ids: unknown[] = [];

  private constructor(client: RawClient) {
    this.#client = client;
  }

  static async open(port: number): Promise<UrlConnection> {
    const client = new RawClient(port);
    await once(client.socket, 'connect');
    return new UrlConnection(client);
  }

  async send(message: string | Uint8Array, facts: SentFacts = {}, pieces = 1): Promise<void> {
    for (const piece of piecesOf(this.#request(message, facts), pieces)) {
      await this.#client.write(piece);
      if (pieces > 1) await nextTurn();
    }
  }

  sendPart(message: string): Promise<void> {
    return this.#client.write(this.#request(message, {}).subarray(0, -1));
  }

  async receive(): Promise<string | undefined> {
    return replyOf(this.#ids.shift(), await this.#client.response());
  }

  leave(): void {
    this.#client.destroy();
  }

  #request(message: string | Uint8Array, facts: SentFacts): Buffer {
    const call = callOf(message);
    if (call === undefined) throw new Error('no URL stands for this message');
    this.#ids.push(call.id);
    return post(JSON.stringify(call.params), headersOf(facts), `/api/${call.method}`);
  }
}

function subject({ name, put, ...server }: WayIn): Subject {
  return {
    name: `URLs of procedures, ${name}`,
    ...server,
    can: ['metadata', 'authenticates', 'keeps-order', 'pieces', 'sees-leaving'],
    carries: (message) => callOf(message) !== undefined,
    async serve(service, options): Promise<Server> {
      const http = optionsOf(options);
      const api = new HttpApi(service, http, options.askCaller !== undefined);
      const listening = await put(service, { ...http, routes: () => api.routes('/api') });
      return {
        connect: () => UrlConnection.open(listening.port),
        close: () => listening.close(),
      };
    },
  };
}

/** POST of a procedure's URL: a message is a call by names, and no other. */
export const urlSubjects: readonly Subject[] = waysIn.slice(0, 3).map(subject);
