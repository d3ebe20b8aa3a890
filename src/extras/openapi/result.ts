import { createHash } from 'node:crypto';
import type { StreamFlow, StreamHost, StreamSink } from '../../core/dispatch/streams/contract.ts';
import { returnsBytes } from '../../core/procedures/raw-bytes.ts';
import type { Outcome, Reply } from '../../core/protocol/reply.ts';
import {
  type Answer,
  type BodyAnswer,
  bodyless,
  matchesEtag,
  uncachedLines,
} from '../../server/http/edge/answer.ts';
import { namesEvents } from '../../server/http/edge/request-head.ts';
import {
  type EventFormat,
  eventStreamLines,
  eventText,
} from '../../server/http/event-stream/event-stream.ts';
import {
  headerType,
  jsonType,
  mediaTypeOf,
  octetsType,
  preferredType,
  takesEvents,
} from './accept.ts';
import { bytesFromJson, type Json } from './body.ts';
import type { Operation, ResultForm } from './operation.ts';
import type { Problems } from './problem.ts';

/** Without these, HTML or SVG that a procedure returns as bytes would run as a page of this origin. */
const sandboxed = ['content-security-policy', "default-src 'none'; sandbox"];

/** Longer answers have no ETag: to hash 256 KiB takes the main thread 0.2 ms. */
const maxHashed = 256 * 1024;

/** The values of a stream, gathered: what it returns is no part of the answer. */
const gathered: ResultForm = { kind: 'json' };

/** What decides how a result is answered, beside the operation. */
export interface ResultFacts {
  readonly request: {
    readonly method: string;
    readonly accept: string | undefined;
    readonly ifNoneMatch: string | undefined;
  };
  /** The request headers on which any answer may depend. */
  readonly vary: readonly string[];
  /** Further headers, flat. */
  readonly lines: readonly string[];
}

/**
 * The answer to a call that has a result.
 *
 * @param given the result: JSON, or bytes that a procedure of this process gave as they are
 * @returns JSON itself, if it has no headers but `uncachedLines`: the server writes these at once; undefined: 204
 */
export function resultAnswer(
  given: { readonly json: Json } | { readonly bytes: Uint8Array },
  { result, stream, cacheControl }: Operation,
  { request, vary, lines }: ResultFacts,
): BodyAnswer {
  const form = stream === undefined ? result : gathered;
  if (form.kind === 'nothing') return undefined;
  const isRead = request.method !== 'POST';
  const control = isRead ? cacheControl : undefined;
  const type = form.kind === 'bytes' ? typeOf(form.mediaType, request.accept) : jsonType;
  const isJson = type === jsonType;
  const body = 'bytes' in given ? given.bytes : isJson ? given.json : bytesFromJson(given.json);
  if (isJson && control === undefined && request.method !== 'HEAD') return body;
  const headers = ['content-type', type, ...(isJson ? [] : sandboxed), ...lines];
  if (control === undefined) {
    return {
      status: 200,
      headers: [...headers, ...uncachedLines],
      body,
      isOwn: true,
      close: false,
    };
  }
  const varied = form.kind === 'bytes' ? [...vary, 'accept'] : vary;
  const kept = ['cache-control', control];
  if (varied.length > 0) kept.push('vary', varied.join(', '));
  if (Buffer.byteLength(body) <= maxHashed) {
    // The call has run all the same: an ETag spares the bytes, not the work.
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    kept.push('etag', etag, 'access-control-expose-headers', 'etag');
    if (matchesEtag(request.ifNoneMatch, etag)) return bodyless(304, kept);
  }
  headers.push(...kept, 'x-content-type-options', 'nosniff');
  return { status: 200, headers, body, isOwn: true, close: false };
}

/** Whether the answer is the bytes that a procedure of this process returns, which need no base64 on their way here. */
export function answersBytes(
  { procedure, result }: Operation,
  accept: string | undefined,
): boolean {
  if (result.kind !== 'bytes' || !returnsBytes(procedure)) return false;
  return typeOf(result.mediaType, accept) !== jsonType;
}

/** The type that bytes are answered as: their own, any bytes, or the JSON of their base64. */
function typeOf(declared: string | undefined, accept: string | undefined): string {
  const own = headerType(declared) ?? octetsType;
  const plain = mediaTypeOf(own) ?? octetsType;
  const preferred = preferredType(accept, [plain, octetsType, jsonType]);
  return preferred === undefined || preferred === plain ? own : preferred;
}

/** Whether a call is answered by events. A stream that may be gathered is JSON unless its client names events. */
export function wantsEvents({ stream }: Operation, accept: string | undefined): boolean {
  if (stream === undefined) return false;
  return stream.collect ? namesEvents(accept) : takesEvents(accept);
}

/**
 * How a stream is written: each value is an event without a name. The last event says how it has ended, since browsers connect
 * again after each end: `result`, `end` where it has none, or `error` with a problem.
 */
export function eventFormat(operation: Operation, problems: Problems): EventFormat {
  const last = ({ ok, text }: Outcome): string => {
    if (!ok) return `event: error\n${eventText(problems.ofStream(text, operation))}`;
    const hasResult = operation.stream?.hasResult === true;
    return hasResult ? `event: result\n${eventText(text)}` : `event: end\n${eventText('null')}`;
  };
  return { before: 'data: ', behind: '\n\n', value: (value) => value, end: last };
}

/** Opens the stream of a HEAD, so that it has the status of a GET, and reads nothing of it. */
export class HeadOfStream implements StreamHost, StreamSink {
  accept(): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): Reply {
    flow.cancel();
    return undefined;
  }

  value(): void {}

  end(): void {}
}

export const headOfStream: Answer = bodyless(200, eventStreamLines);
