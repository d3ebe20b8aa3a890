import { isOpenRpc } from '../../client/codegen/document.ts';
import { createExchange, post } from '../../client/exchange.ts';
import type { Outcome } from '../../client/outcome.ts';
import type { Call, Fetch } from '../../client/request.ts';
import { run } from '../../client/run.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { limitedFetch } from './limited-fetch.ts';
import { isRegistry } from './registry.ts';

export interface RemoteOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds; undefined: the server's limit. */
  readonly timeoutMs: number | undefined;
}

/** How one call ended, and the last body that was received: where the call has a result, the body that holds it. */
export interface Exchanged {
  readonly outcome: Outcome;
  readonly body: string;
}

/** Makes one call, with its params as JSON text. A call that the server says never ran is sent again. */
export async function exchangeOnce(
  url: string,
  call: Call,
  { headers, timeoutMs }: RemoteOptions,
): Promise<Exchanged> {
  let body = '';
  const fetch: Fetch = async (target, init) => {
    const response = await limitedFetch(target, init);
    const text = async () => {
      body = await response.text();
      return body;
    };
    return { ...response, text };
  };
  const exchange = createExchange((request, signal, expires) =>
    post({ url, headers, fetch }, request.body, signal, expires),
  );
  const [outcome] = await run(exchange, [call], {
    signal: undefined,
    timeoutMs: timeoutMs ?? Number.POSITIVE_INFINITY,
    retries: 2,
    idempotent: false,
  });
  if (outcome === undefined) throw new Error('an exchange gives an outcome for each call');
  return { outcome, body };
}

/** A server's document, and the ETag of this state of it. */
export interface RemoteDocument {
  readonly value: unknown;
  /** undefined: the server sends no ETag. */
  readonly etag: string | undefined;
}

const documentTimeoutMs = 30_000;

/**
 * A server's description of its procedures: what it answers to GET, else the result of its `rpc.discover`.
 *
 * @param format `openrpc` is asked for in the query, which servers that do not know the query ignore
 * @param known the ETag of the document that the caller has
 * @returns undefined while the document that the caller has is current
 * @throws StartupError
 */
export async function fetchDocument(
  url: string,
  format: 'tandem' | 'openrpc',
  options: RemoteOptions,
  known?: string,
): Promise<RemoteDocument | undefined> {
  const got = await getDocument(url, format, options, known);
  if (got === 'same') return undefined;
  if ('value' in got) return got;
  const call = { method: 'rpc.discover', params: undefined, notify: false };
  const timeoutMs = options.timeoutMs ?? documentTimeoutMs;
  const { outcome } = await exchangeOnce(url, call, { ...options, timeoutMs });
  if (outcome.ok && isOpenRpc(outcome.result)) return { value: outcome.result, etag: undefined };
  const why = outcome.ok ? 'no OpenRPC document' : outcome.error.message;
  throw new StartupError(
    `no document of procedures at ${url}: GET gave ${got.instead}, rpc.discover ${escapeControls(why)}`,
  );
}

/** What a server sent in place of a document. */
interface Instead {
  readonly instead: string;
}

/** @returns the document, or `same` where it is the document that the caller has */
async function getDocument(
  url: string,
  format: 'tandem' | 'openrpc',
  { headers, timeoutMs = documentTimeoutMs }: RemoteOptions,
  known: string | undefined,
): Promise<RemoteDocument | 'same' | Instead> {
  const target = new URL(url);
  if (format === 'openrpc') target.searchParams.set('format', 'openrpc');
  const head = new Headers(headers);
  head.set('accept', 'application/json');
  if (known !== undefined) head.set('if-none-match', known);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await limitedFetch(target.href, { method: 'GET', headers: head, signal });
    const { status } = response;
    if (status === 304) return 'same';
    const text = await response.text();
    if (status !== 200) return { instead: `the status ${status}` };
    const value = parsed(text);
    const etag = response.headers.get('etag') ?? undefined;
    return isOpenRpc(value) || isRegistry(value) ? { value, etag } : { instead: 'something else' };
  } catch (error) {
    throw new StartupError(`GET ${target.href}: ${reasonOf(error)}`, { cause: error });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Node's fetch says only "fetch failed". Its cause says what failed. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
