import { jsonTextOf } from '../jsonrpc/json-value.ts';
import { RequestScope, type ScopeFacts } from './scope.ts';

/** What a program that calls by itself may say of a request. */
export interface CallerFacts extends ScopeFacts {
  /** Who calls, a JSON value: `context.auth` of each call of the request. Handlers get copies. */
  readonly auth?: unknown;
}

/**
 * The scope of a request that a program makes by itself: what it says is checked and copied here, so that everything
 * can cross to a worker, and nothing changes under the calls.
 *
 * @throws TypeError that names what is wrong
 */
export function createCallerScope(facts: CallerFacts): RequestScope {
  const { auth, timeoutMs } = facts;
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw new TypeError(`option timeoutMs must be milliseconds, not ${String(timeoutMs)}`);
  }
  const scope = new RequestScope({
    headers: copyHeaders(facts.headers),
    remoteAddress: toText(facts.remoteAddress, 'option remoteAddress'),
    traceparent: toText(facts.traceparent, 'option traceparent'),
    tracestate: toText(facts.tracestate, 'option tracestate'),
    timeoutMs,
  });
  if (auth !== undefined) scope.admit(jsonTextOf(auth, 'option auth'));
  return scope;
}

function copyHeaders(headers: ScopeFacts['headers']): ScopeFacts['headers'] {
  if (headers === undefined) return undefined;
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError('option headers must be an object of names and texts');
  }
  const copied = { ...headers };
  for (const [name, value] of Object.entries(copied)) toText(value, `option headers: ${name}`);
  return copied;
}

function toText(value: string | undefined, place: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw new TypeError(`${place} must be a string, not ${value === null ? 'null' : typeof value}`);
}
