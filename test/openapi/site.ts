import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { type AppOptions, type RateLimitStore, type RpcApp, RpcError } from '../../src/index.ts';
import router from '../fixtures/openapi/service.ts';
import { inReverse, type Lifetime, makeApp, mountApp, rawClients, startApp } from '../harness.ts';
import { header, type RawClient, type RawResponse } from '../http/raw-client.ts';
import { isIncluded, type ServerName } from '../servers.ts';

export type Headers = Readonly<Record<string, string>>;

/** An event of a stream: its name, and the value of its data. */
export type Event = readonly [name: string, data: unknown];

/** A service that listens, and a client that writes bytes as they are. */
export class Site {
  /** Or the path of a Unix socket. */
  readonly port: number | string;
  readonly connect: () => RawClient;
  #client: RawClient | undefined;

  constructor(port: number | string, connect: () => RawClient) {
    this.port = port;
    this.connect = connect;
  }

  /** Sends the headers that are given, the Host, and the length of a body; nothing else. */
  ask(
    method: string,
    path: string,
    headers: Headers = {},
    body?: string | Uint8Array,
  ): Promise<RawResponse> {
    if (this.#client === undefined || this.#client.closed) this.#client = this.connect();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const host = typeof this.port === 'number' ? `localhost:${this.port}` : 'localhost';
    const lines = Object.entries({ host, ...length, ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const bytes = Buffer.concat([
      Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`),
      Buffer.from((body ?? '') as Uint8Array),
    ]);
    return this.#client.ask(bytes, method === 'HEAD');
  }

  get(path: string, headers?: Headers): Promise<RawResponse> {
    return this.ask('GET', `/api/${path}`, headers);
  }

  /** @param json the body as it stands */
  post(path: string, json: string, headers: Headers = {}): Promise<RawResponse> {
    return this.ask(
      'POST',
      `/api/${path}`,
      { 'content-type': 'application/json', ...headers },
      json,
    );
  }

  /** The events of a stream. */
  async events(path: string, init: RequestInit = {}): Promise<readonly Event[]> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/${path}`, init);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const events = (await response.text()).split('\n\n').slice(0, -1);
    return events.flatMap((event): Event[] => {
      if (event.startsWith(':')) return [];
      const [, name = '', data = ''] = /^(?:event: (.*)\n)?data: (.*)$/.exec(event) ?? [];
      return [[name, JSON.parse(data)]];
    });
  }

  /** What has changed something so far. */
  async seen(): Promise<readonly string[]> {
    return jsonOf(await this.get('seen')) as readonly string[];
  }
}

/** The value of an answer that is JSON, which it says. */
export function jsonOf(response: RawResponse): unknown {
  assert.equal(response.status, 200, response.body.toString());
  assert.equal(header(response, 'content-type'), 'application/json');
  return JSON.parse(response.body.toString());
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: number;
  readonly name?: string;
  readonly detail?: string;
  readonly data?: unknown;
}

/** The problem document of an answer, which no cache may keep. */
export function problemOf(response: RawResponse, status: number): Problem {
  assert.equal(response.status, status, response.body.toString());
  assert.equal(header(response, 'content-type'), 'application/problem+json');
  assert.equal(header(response, 'cache-control'), 'no-store');
  assert.equal(header(response, 'etag'), undefined);
  const problem = JSON.parse(response.body.toString()) as Problem;
  assert.equal(problem.status, status);
  assert.equal(typeof problem.title, 'string');
  return problem;
}

/** The path of the first argument that was refused. */
export function issueOf(response: RawResponse): {
  readonly path: string;
  readonly received: string;
} {
  const { code, data } = problemOf(response, 400);
  assert.equal(code, -32602);
  const [issue] = data as readonly { readonly path: string; readonly received: string }[];
  return issue!;
}

/** What a service is started with. */
export const sites = {
  plain: {},
  small: { maxBodyBytes: 1000, maxInlineParamsBytes: 500, maxReplyBytes: 100_000 },
  listed: { corsOrigin: ['https://friend.example'] },
  /** The header `x-token` says who calls. */
  asking: {
    authenticate: ({ headers }) => {
      const token = headers['x-token'] ?? 'none';
      if (token === 'forbidden') throw new RpcError(403, 'Forbidden');
      if (token === 'broken') throw new Error('the secret');
      if (token === 'none') throw new RpcError(4010, 'Log in');
      return { sub: token };
    },
  },
  /** A caller may call once. */
  limited: { rateLimit: { calls: 1, store: { admit: admitOnce(), charge: () => {} } } },
} as const satisfies Readonly<Record<string, Partial<AppOptions>>>;

/** Refuses every second call, so that each way in finds the first one admitted. */
function admitOnce(): RateLimitStore['admit'] {
  let isAdmitted = false;
  return () => {
    isAdmitted = !isAdmitted;
    return { retryAfterMs: isAdmitted ? 0 : 1500, left: 0, resetMs: 999_500 };
  };
}

export type SiteName = keyof typeof sites;

/** A way in over HTTP. */
export interface Way {
  readonly name: string;
  /** The server of this package that it has. */
  readonly server?: ServerName;
  open(t: Lifetime, options: AppOptions): Promise<Site>;
}

const httpPath = '/api';

/** The procedures of the tests, behind one way in. */
export function openSite(t: Lifetime, way: Way, name: SiteName): Promise<Site> {
  return way.open(t, { router, ...sites[name] } as AppOptions);
}

export function ownServer(transport: ServerName): Way['open'] {
  return async (t, options) => {
    const { port, client } = await startApp(t, { httpPath, ...options, transport });
    return new Site(port, client);
  };
}

function mounted(
  put: (handler: ReturnType<RpcApp['nodeHandler']>) => RequestListener,
): Way['open'] {
  return async (t, options) => {
    const { port, client } = await mountApp(t, { httpPath, ...options }, (app) =>
      put(app.nodeHandler()),
    );
    return new Site(port, client);
  };
}

/** Every way in that one process has. */
const all: readonly Way[] = [
  { name: 'uWebSockets.js', server: 'uws', open: ownServer('uws') },
  { name: 'node:http', server: 'node', open: ownServer('node') },
  {
    name: 'nodeHandler() in Express',
    open: mounted((handler) => {
      const web = express();
      web.use(['/api', '/openapi.json'], handler);
      return web;
    }),
  },
  {
    name: 'nodeHandler() in Fastify',
    open: async (t, options) => {
      const own = inReverse(t);
      const { app } = makeApp(own, { httpPath, ...options });
      const web = fastify();
      web.removeAllContentTypeParsers();
      web.addContentTypeParser('*', (_request, _payload, done) => done(null));
      const handler = app.nodeHandler();
      web.all('/api/*', handler);
      web.get('/openapi.json', handler);
      await web.listen({ host: '127.0.0.1', port: 0 });
      own.after(() => web.close());
      await app.dispatcher.ready();
      const { port } = web.server.address() as AddressInfo;
      return new Site(port, rawClients(own, port));
    },
  },
];

export const ways = all.filter(isIncluded);
/** Those of them that are a server of this package. */
export const ownServers = ways.filter(({ server }) => server !== undefined);
