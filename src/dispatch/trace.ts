import type { Place } from '../base/place.ts';

/**
 * Headers of W3C Trace Context (https://www.w3.org/TR/trace-context-2/), checked before they are handed
 * on: what does not follow its grammar is as if it had not been sent.
 */

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const zeros = /^0+$/;

/** The flags that a later version's mean too: sampled, and random trace id. */
const knownFlags = 0x03;

/** A `traceparent` of version 00, undefined for one that is invalid; a later version's is read as the rules say. */
export function toTraceparent(header: string): string | undefined {
  const [, version, traceId = '', parentId = '', flags = '', rest] = traceparent.exec(header) ?? [];
  if (version === undefined || version === 'ff' || zeros.test(traceId) || zeros.test(parentId)) {
    return undefined;
  }
  if (version === '00') return rest === undefined ? header : undefined;
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
export function toTracestate(header: string): string | undefined {
  const members = header.split(',').map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''));
  const given = members.filter((text) => text !== '');
  if (given.length === 0 || given.length > maxMembers) return undefined;
  const keys = new Set<string>();
  for (const text of given) {
    const key = member.exec(text)?.[1];
    if (key === undefined || keys.has(key)) return undefined;
    keys.add(key);
  }
  return header;
}

/** A request that is traced: its calls get spans of their own. */
export interface RequestTrace {
  /** A call of the procedure `method` begins. */
  call(method: string, id: string | undefined): CallTrace;
}

/** The span of one call. */
export interface CallTrace {
  /** Names the span to what the call does: the handler's `context.traceparent`. undefined: nobody records. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Runs the handler with the span as the current one. */
  run<T>(handler: () => T): T;
  /** The call has its answer; see `onCall` of observer.ts. */
  end(code: number, place: Place, waitUs: number, runUs: number): void;
}
