import type { Place } from '../base/place.ts';

/**
 * W3C Trace Context (https://www.w3.org/TR/trace-context-2/), checked before it is handed on: what does not
 * follow its grammar is as if it had not been sent.
 */

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/** The flags that a later version's mean too: sampled, and random trace id. */
const knownFlags = 0x03;

/** A `traceparent` of version 00, undefined for one that is invalid; a later version's is read as the rules say. */
export function toTraceparent(given: string): string | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = traceparent.exec(given) ?? [];
  if (version === undefined || version === 'ff' || zeros.test(traceId) || zeros.test(parentId)) {
    return undefined;
  }
  if (version === '00') return rest === undefined ? given : undefined;
  const known = (Number.parseInt(flags, 16) & knownFlags).toString(16).padStart(2, '0');
  return `00-${traceId}-${parentId}-${known}`;
}

/** The span that a `traceparent` of version 00 names: another process's, or thread's. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote: true;
}

/** @param traceparent as `toTraceparent` gave it */
export function toRemoteSpan(traceparent: string): RemoteSpan {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

const maxMembers = 32;
const member =
  /^([a-z0-9][a-z0-9_\-*/@]{0,255})=([\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])$/;

/** A `tracestate` as it was sent, undefined for one that is invalid or empty. */
export function toTracestate(text: string): string | undefined {
  const members = text.split(',').map((one) => one.replace(/^[ \t]+|[ \t]+$/g, ''));
  const given = members.filter((one) => one !== '');
  if (given.length === 0 || given.length > maxMembers) return undefined;
  const keys = new Set<string>();
  for (const one of given) {
    const key = member.exec(one)?.[1];
    if (key === undefined || keys.has(key)) return undefined;
    keys.add(key);
  }
  return text;
}

/** What a span says, by the names of its attributes; undefined: it does not say that one. */
export type SpanFacts = Readonly<Record<string, string | number | undefined>>;

/** What a transport says of the request that a span is for. */
export interface SpanStart {
  readonly name: string;
  /** When the request was received, by `clockMs`. */
  readonly receivedAt: number;
  /** W3C Trace Context as the caller sent it; ignored where it is invalid. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly facts: SpanFacts;
}

/** Makes spans of requests. What they are called and what they say is the transport's. */
export interface RequestTracing {
  /** A request begins. Whoever begins a span ends it. */
  begin(start: SpanStart): RequestSpan;
}

/** A request that is traced: its calls get spans of their own. */
export interface RequestTrace {
  /** A call of the procedure `method` begins. */
  call(method: string, id: string | undefined): CallTrace;
}

/** The span of one request. */
export interface RequestSpan extends RequestTrace {
  /**
   * The request is answered, or will not be. Once.
   *
   * @param error what went wrong in the transport, one of few texts; undefined: nothing. Errors of calls are theirs
   */
  end(facts: SpanFacts, error: string | undefined): void;
}

/** The span of one call. */
export interface CallTrace {
  /** Names the span to what the call does: the handler's `context.traceparent`. undefined: nobody records. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Runs the handler with the span as the current one. */
  run<T>(handler: () => T): T;
  /** The call has opened a stream: its span goes on until `streamEnded`. */
  opened(place: Place, waitUs: number, runUs: number): void;
  /** See `onStreamEnd` of observer.ts. */
  streamEnded(code: number, values: number): void;
  /** The call has its answer; see `onCall` of observer.ts. */
  end(code: number, place: Place, waitUs: number, runUs: number): void;
}
