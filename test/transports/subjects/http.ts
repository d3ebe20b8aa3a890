import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { createAuthenticator } from '../../../src/core/dispatch/authenticate.ts';
import type { Dispatcher } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/server/http/edge/http-options.ts';
import { createFetchHandler } from '../../../src/server/http/fetch/handler.ts';
import { listen } from '../../../src/server/http/listen.ts';
import { createNodeHandler, type NodeHandler } from '../../../src/server/http/node/handler.ts';
import { post, RawClient, type RawResponse } from '../../http/raw-client.ts';
import { defaults } from '../../http/stub-server.ts';
import type { ServerName } from '../../servers.ts';
import type { Connection, SentFacts, Subject, TransportOptions } from '../subject.ts';
import { piecesOf } from './pieces.ts';

/** Where a handler or a server listens. */
export interface Listening {
  readonly port: number;
  readonly close: () => Promise<void>;
}

export type Put = (service: Dispatcher, options: HttpOptions) => Promise<Listening>;

export function optionsOf({ maxMessageBytes, askCaller }: TransportOptions): HttpOptions {
  const authenticate =
    askCaller &&
    createAuthenticator(
      'authenticate',
      ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
        askCaller(headers['x-token']),
      () => {},
    );
  return {
    ...defaults,
    maxBodyBytes: maxMessageBytes,
    authenticate,
    forwardHeaders: ['x-tenant'],
  };
}

export function headersOf({ tenant, token, timeoutMs, traceparent }: SentFacts) {
  return {
    'x-tenant': tenant,
    'x-token': token,
    'rpc-timeout-ms': timeoutMs === undefined ? undefined : String(timeoutMs),
    traceparent,
  };
}

/** What a message of JSON-RPC is as a request, and an answer as its reply. */
export interface HttpForm {
  request(message: string | Uint8Array, facts: SentFacts): Buffer;
  reply(response: RawResponse): string | undefined;
}

const plain: HttpForm = {
  request: (message, facts) => post(message, headersOf(facts)),
  reply: ({ status, body }) => (status === 204 ? undefined : body.toString()),
};

export class HttpConnection implements Connection {
  readonly #client: RawClient;
  readonly #form: HttpForm;

  private constructor(client: RawClient, form: HttpForm) {
    this.#client = client;
    this.#form = form;
  }

  static async open(port: number, form: HttpForm): Promise<HttpConnection> {
    const client = new RawClient(port);
    await once(client.socket, 'connect');
    return new HttpConnection(client, form);
  }

  async send(message: string | Uint8Array, facts: SentFacts = {}, pieces = 1): Promise<void> {
    for (const piece of piecesOf(this.#form.request(message, facts), pieces)) {
      await this.#client.write(piece);
      if (pieces > 1) await nextTurn();
    }
  }

  sendPart(message: string): Promise<void> {
    return this.#client.write(this.#form.request(message, {}).subarray(0, -1));
  }

  async receive(): Promise<string | undefined> {
    return this.#form.reply(await this.#client.response());
  }

  leave(): void {
    this.#client.destroy();
  }
}

export function httpSubject({ name, put, ...server }: WayIn): Subject {
  return {
    name,
    ...server,
    can: [
      'messages',
      'metadata',
      'authenticates',
      'says-nothing',
      'counts-bodies',
      'keeps-order',
      'reads-on',
      'pieces',
      'sees-leaving',
    ],
    carries: () => true,
    async serve(service, options) {
      const listening = await put(service, optionsOf(options));
      return {
        connect: () => HttpConnection.open(listening.port, plain),
        close: () => listening.close(),
      };
    },
  };
}

function server(transport: ServerName): Put {
  return async (service, options) => {
    const listening = await listen(service, options, transport);
    return { port: listening.address.port, close: () => listening.close() };
  };
}

/** Has a server listen. @param end what begins to end with it */
export async function listenWith(own: Server, end?: () => unknown): Promise<Listening> {
  await once(own.listen(0, '127.0.0.1'), 'listening');
  let closing: Promise<unknown> | undefined;
  return {
    port: (own.address() as AddressInfo).port,
    close: async () => {
      closing ??= Promise.all([new Promise((resolve) => own.close(resolve)), end?.()]);
      await closing;
    },
  };
}

export interface WayIn {
  readonly name: string;
  readonly put: Put;
  /** The server of this package that it has. */
  readonly server?: ServerName;
}

/** Every way in over HTTP: both servers, and the handler in the servers of others. */
export const waysIn: readonly WayIn[] = [
  { name: 'uWebSockets.js', put: server('uws'), server: 'uws' },
  { name: 'node:http', put: server('node'), server: 'node' },
  {
    name: 'nodeHandler() in node:http',
    put: (service, options) => listenWith(createServer(createNodeHandler(service, options))),
  },
  {
    name: 'nodeHandler() in Express',
    put: (service, options) => {
      const app = express();
      app.use('/rpc', createNodeHandler(service, options));
      return listenWith(createServer(app));
    },
  },
  {
    name: 'nodeHandler() in Fastify',
    put: async (service, options) => {
      const handler: NodeHandler = createNodeHandler(service, options);
      const app = fastify();
      app.removeAllContentTypeParsers();
      app.addContentTypeParser('*', (_request, _payload, done) => done(null));
      app.all('/rpc', handler);
      await app.listen({ port: 0, host: '127.0.0.1' });
      return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
    },
  },
  {
    name: 'fetchHandler() in Hono',
    put: (service, options) => {
      const app = new Hono();
      const handler = createFetchHandler(service, options);
      app.all('/rpc', ({ req }) => handler(req.raw));
      const listener = getRequestListener(app.fetch);
      return listenWith(createServer((request, response) => void listener(request, response)));
    },
  },
];

/** The servers of this package. */
export const servers: readonly WayIn[] = waysIn.slice(0, 2);
/** The handler in the frameworks of others, which differ from node:http by what they do before it. */
export const mounts: readonly WayIn[] = waysIn.slice(2);
