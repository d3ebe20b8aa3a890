import { HttpApi } from '../../../src/extras/openapi/http-api.ts';
import { post, type RawResponse } from '../../http/raw-client.ts';
import type { Subject } from '../subject.ts';
import { HttpConnection, type HttpForm, headersOf, optionsOf, type WayIn, waysIn } from './http.ts';

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

/** Of one connection, whose answers come in the order of its calls. */
function urlForm(): HttpForm {
  /** Of the calls whose answers have not come. */
  const ids: unknown[] = [];
  return {
    request(message, facts) {
      const call = callOf(message);
      if (call === undefined) throw new Error('no URL stands for this message');
      ids.push(call.id);
      return post(JSON.stringify(call.params), headersOf(facts), `/api/${call.method}`);
    },
    reply: (response) => replyOf(ids.shift(), response),
  };
}

function subject({ name, put, ...server }: WayIn): Subject {
  return {
    name: `URLs of procedures, ${name}`,
    ...server,
    can: ['metadata', 'authenticates', 'keeps-order', 'pieces', 'sees-leaving'],
    carries: (message) => callOf(message) !== undefined,
    async serve(service, options) {
      const http = optionsOf(options);
      const api = new HttpApi(service, http, options.askCaller !== undefined);
      const listening = await put(service, { ...http, routes: () => api.routes('/api') });
      return {
        connect: () => HttpConnection.open(listening.port, urlForm()),
        close: () => listening.close(),
      };
    },
  };
}

/** POST of a procedure's URL: a message is a call by names, and no other. */
export const urlSubjects: readonly Subject[] = waysIn.slice(0, 3).map(subject);
