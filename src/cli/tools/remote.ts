import { isOpenRpc } from '../../client/codegen/document.ts';
import type { Bytes } from '../../client/event-lines.ts';
import { type Call, createExchange, type Fetch, post } from '../../client/exchange.ts';
import { type Outcome, RpcTransportError } from '../../client/outcome.ts';
import { run } from '../../client/run.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { messageOf } from '../../core/base/message-of.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { isObject } from '../../core/base/value-kinds.ts';
import type { RegistrySchema } from '../../core/procedures/document/introspect.ts';

export interface RemoteOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds; undefined: the server's limit. */
  readonly timeoutMs: number | undefined;
}

/**
 * Longest body. A document of 50,000 procedures takes a tenth of it; a server that never stops sending must be cut.
 */
const maxBytes = 64 * 1024 * 1024;

type Init = Parameters<Fetch>[1];

/** fetch for servers that are not trusted: redirects are not followed, and the length of a body is limited. */
async function limitedFetch(
  url: string,
  init: Pick<Init, 'headers' | 'signal'> & { readonly method: string; readonly body?: string },
): Promise<Pick<Response, 'status' | 'headers' | 'body' | 'text'>> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  const { status, headers, body } = response;
  return { status, headers, body, text: () => readText(response) };
}

/** @throws Error for a body that is too long */
async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`the reply is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/**
 * Makes one call, with its params as JSON text. A call that the server says never ran is sent again, unless its stream is read.
 *
 * @param readEvents reads the stream, if the server answers by one, and returns its last event; undefined: none is taken
 * @param gone aborts when nobody waits any more
 * @throws the reason of `gone`
 * @returns how it ended, and the last body that was received: if the call has a result, the body that holds it
 */
export async function exchangeOnce(
  url: string,
  call: Call,
  { headers, timeoutMs }: RemoteOptions,
  readEvents?: (stream: Bytes) => Promise<string>,
  gone?: AbortSignal,
): Promise<{ readonly outcome: Outcome; readonly body: string }> {
  let body = '';
  // Of a stream that broke off, or that has ended, nothing more is read.
  const leave = new AbortController();
  const fetch: Fetch = async (target, init) => {
    const signal = AbortSignal.any([init.signal, leave.signal]);
    const response = await limitedFetch(target, { ...init, signal });
    const text = async () => {
      body = await response.text();
      return body;
    };
    return { ...response, text };
  };
  const accept = readEvents && 'text/event-stream, ';
  const exchange = createExchange(async (request, signal, expires) => {
    const answer = await post({ url, headers, fetch }, request, signal, expires, accept);
    if (answer.stream === undefined || readEvents === undefined) return answer;
    try {
      body = await readEvents(answer.stream as Bytes);
    } catch (cause) {
      throw new RpcTransportError(messageOf(cause), { ...answer.facts, cause });
    }
    return { ...answer, reply: body };
  });
  const [outcome] = await run(exchange, [call], {
    signal: gone,
    timeoutMs: timeoutMs ?? Number.POSITIVE_INFINITY,
    retries: readEvents === undefined ? 2 : 0,
    idempotent: false,
  }).finally(() => leave.abort());
  if (outcome === undefined) throw new Error('an exchange gives an outcome for each call');
  return { outcome, body };
}

const documentTimeoutMs = 30_000;

/**
 * A server's description of its procedures: what it answers to GET, else the result of its `rpc.discover`.
 *
 * @param format `openrpc` and `openapi` are asked for in the query, which servers that do not know the query ignore
 * @param known the ETag of the document that the caller has
 * @returns the document and its ETag, if the server sends one; undefined while the document that the caller has is current
 * @throws StartupError
 */
export async function fetchDocument(
  url: string,
  format: 'tandem' | 'openrpc' | 'openapi',
  options: RemoteOptions,
  known?: string,
): Promise<{ readonly value: unknown; readonly etag: string | undefined } | undefined> {
  const target = new URL(url);
  if (format !== 'tandem') target.searchParams.set('format', format);
  const headers = new Headers(options.headers);
  headers.set('accept', 'application/json');
  if (known !== undefined) headers.set('if-none-match', known);
  const timeoutMs = options.timeoutMs ?? documentTimeoutMs;
  let instead = 'something else';
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await limitedFetch(target.href, { method: 'GET', headers, signal });
    const { status } = response;
    if (status === 304) return undefined;
    const text = await response.text();
    if (status === 200) {
      const value: unknown = JSON.parse(text);
      const etag = response.headers.get('etag') ?? undefined;
      if (isOpenApi(value)) return { value, etag };
      const isKnown = isOpenRpc(value) || isRegistry(value);
      if (isKnown && format !== 'openapi') return { value, etag };
    } else {
      instead = `the status ${status}`;
    }
  } catch (error) {
    // What is no JSON is something else than a document.
    if (!(error instanceof SyntaxError)) {
      throw new StartupError(`GET ${target.href}: ${reasonOf(error)}`, { cause: error });
    }
  }
  if (format === 'openapi') {
    throw new StartupError(
      `no OpenAPI document at ${url}: GET gave ${instead}; a service has one with the option httpPath`,
    );
  }
  const call = { method: 'rpc.discover', params: undefined, notify: false };
  const { outcome } = await exchangeOnce(url, call, { ...options, timeoutMs });
  if (outcome.ok && isOpenRpc(outcome.result)) return { value: outcome.result, etag: undefined };
  const why = outcome.ok ? 'no OpenRPC document' : outcome.error.message;
  throw new StartupError(
    `no document of procedures at ${url}: GET gave ${instead}, rpc.discover ${escapeControls(why)}`,
  );
}

/** Node's fetch says only "fetch failed". Its cause says what failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

/** Whether a document is one of OpenAPI, or of its predecessor Swagger. */
export function isOpenApi(document: unknown): boolean {
  return (
    isObject(document) && ['openapi', 'swagger'].some((name) => typeof document[name] === 'string')
  );
}

/** Whether a document is one that this service answers to GET. An empty one counts: nothing tells its kind. */
export function isRegistry(document: unknown): document is RegistrySchema {
  return areProcedures(document);
}

type Check = (value: unknown) => boolean;

const isString: Check = (value) => typeof value === 'string';
const isBoolean: Check = (value) => typeof value === 'boolean';
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const recordOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);
const objectOf =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(members).every(([name, check]) => check(value[name]));

const areProcedures = recordOf(
  objectOf({
    name: isString,
    parameters: listOf(objectOf({ name: isString, schema_: isObject, required: isBoolean })),
    return_schema: isObject,
    yield_schema: optional(isObject),
    stream: optional(
      objectOf({ notification: isString, unsubscribe: optional(isString), collect: isBoolean }),
    ),
    doc: (value) => value === null || isString(value),
    errors: optional(
      recordOf(
        objectOf({ code: Number.isSafeInteger, message: isString, data: optional(isObject) }),
      ),
    ),
  }),
);
