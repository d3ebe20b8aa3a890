import assert from 'node:assert/strict';
import type { AppOptions, RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { type Lifetime, type StartedApp, startApp } from '../harness.ts';
import { header, post, type RawClient, type RawResponse } from '../http/raw-client.ts';

export const version = '2026-07-28';

/** What every modern request says of itself. */
export const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
};

export const tools = moduleUrl('test/fixtures/mcp/tools.ts');

type Headers = Readonly<Record<string, string | undefined>>;

/** The members of responses that tests look at. */
export interface Replied {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, never>> & { readonly [name: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A modern request, as it stands in a body. */
export function modern(method: string, params: object = {}, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } });
}

/** A legacy one. */
export function legacy(method: string, params?: object, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** The headers of a modern request, made of its body. */
export function headersOf(body: string): Headers {
  const { method, params } = JSON.parse(body) as {
    readonly method: string;
    readonly params?: { readonly name?: string };
  };
  const named = method === 'tools/call' && typeof params?.name === 'string';
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(named ? { 'mcp-name': params.name } : {}),
  };
}

/** A server of the procedures in test/fixtures/mcp, and a client that writes bytes as they are. */
export class Stage {
  readonly app: RpcApp;
  readonly lines: StartedApp['lines'];
  readonly port: number;
  readonly connect: () => RawClient;
  #client: RawClient | undefined;

  private constructor({ app, lines, port, client }: StartedApp) {
    this.app = app;
    this.lines = lines;
    this.port = port;
    this.connect = client;
  }

  /** uWebSockets.js closes a connection that was idle for 10 s: the next request is sent by another one. */
  get client(): RawClient {
    if (this.#client === undefined || this.#client.closed) this.#client = this.connect();
    return this.#client;
  }

  static async start(t: Lifetime, options: Partial<AppOptions> = {}): Promise<Stage> {
    const source = options.router === undefined ? { modules: [tools] } : {};
    return new Stage(await startApp(t, { ...source, mcp: true, ...options }));
  }

  /** Sends a body to /mcp as it is. */
  send(body: string | Uint8Array, headers: Headers = {}): Promise<RawResponse> {
    return this.client.ask(post(body, { host: 'localhost', ...headers }, '/mcp'));
  }

  /** A modern request with its headers. */
  ask(method: string, params?: object, headers: Headers = {}): Promise<RawResponse> {
    const body = modern(method, params);
    return this.send(body, { ...headersOf(body), ...headers });
  }

  /** The result of a modern call of a tool. */
  async call(name: string, given?: object): Promise<NonNullable<Replied['result']>> {
    const response = await this.ask('tools/call', { name, arguments: given });
    assert.equal(response.status, 200);
    const { result } = replied(response);
    assert.ok(result !== undefined, response.body.toString());
    return result;
  }

  /** The tools that are listed, page by page. */
  async pages(): Promise<readonly (readonly Listed[])[]> {
    const pages: (readonly Listed[])[] = [];
    let cursor: string | undefined;
    do {
      const { result } = replied(await this.ask('tools/list', { cursor }));
      const page = result as unknown as { tools: readonly Listed[]; nextCursor?: string };
      pages.push(page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return pages;
  }

  /** The events of a call whose client wants to hear how far it is. */
  async events(
    name: string,
    given: object | undefined,
    token: unknown,
    isLegacy = false,
  ): Promise<readonly Note[]> {
    const own = { ...(isLegacy ? {} : meta), progressToken: token };
    const body = legacy('tools/call', { name, arguments: given, _meta: own });
    const headers = isLegacy ? {} : (headersOf(body) as Record<string, string>);
    const accept = 'application/json, text/event-stream';
    const response = await fetch(`http://127.0.0.1:${this.port}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, ...headers },
      body,
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const events = (await response.text()).split('\n\n');
    return events
      .filter((event) => event.startsWith('data: '))
      .map((event) => JSON.parse(event.slice('data: '.length)) as Note);
  }
}

export interface Listed {
  readonly name: string;
  readonly title: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
}

/** A message of a stream of events. */
export interface Note {
  readonly method?: string;
  readonly params?: object;
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
}

export function replied(response: RawResponse): Replied {
  const type = header(response, 'content-type');
  assert.equal(type, 'application/json', response.body.toString());
  return JSON.parse(response.body.toString()) as Replied;
}

/** The text that a model is shown. */
export function textOf(result: NonNullable<Replied['result']>): string {
  const [first] = result.content as unknown as { readonly text: string }[];
  return first?.text ?? '';
}
