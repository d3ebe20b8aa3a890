import { maxDelayMs } from '../../../core/base/timer.ts';
import type { Config } from '../../../core/config/config.ts';
import type { BodyOverload } from '../../../core/dispatch/body-memory.ts';
import { overloadedReply, usualRetryMs } from '../../../core/dispatch/call.ts';
import type { RateNotice, RequestScope } from '../../../core/dispatch/scope.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import { errorReply, type Reply, type ReplySink } from '../../../core/protocol/reply.ts';

/** A reply that is no JSON-RPC reply, as plain data. Each transport writes it and adds the CORS headers. */
export interface Answer {
  readonly status: number;
  /** Flat: name, value, name, value. Holds nothing that a client sent. */
  readonly headers: readonly string[];
  /**
   * Undefined: the reply has no body. A reply to HEAD has one here, for its length. Bytes exist once, however many
   * clients are answered with them.
   */
  readonly body: string | Uint8Array | undefined;
  /** Bytes were made for this client alone: while they wait for it, they count in the memory of replies. */
  readonly isOwn?: boolean;
  /** Whether to close the connection after this reply, since it is not certain where the next request begins. */
  readonly close: boolean;
}

/** What a request without a body gets; undefined: its connection becomes a WebSocket. */
export type Made = Answer | undefined;

const jsonType = ['content-type', 'application/json'];

export function bodyless(status: number, headers: readonly string[]): Answer {
  return { status, headers, body: undefined, close: false };
}

export function jsonAnswer(
  status: number,
  body: string | Uint8Array,
  headers: readonly string[] = [],
): Answer {
  return { status, headers: [...jsonType, ...headers], body, close: false };
}

export function textAnswer(body: Uint8Array, type: string, headers: readonly string[]): Answer {
  return { status: 200, headers: ['content-type', type, ...headers], body, close: false };
}

/**
 * Refuses a request below JSON-RPC: an error object of the same shape, with the id null. `reason` says what to
 * change.
 */
export function rejection(
  status: number,
  reason: string,
  { headers = [], close = false }: { headers?: readonly string[]; close?: boolean } = {},
): Answer {
  const body = errorReply('null', ErrorCode.InvalidRequest, { reason });
  return { ...jsonAnswer(status, body, headers), close };
}

/** Refuses a body that did not arrive in time. What arrives later is not read. */
export const lateBody: Answer = rejection(
  408,
  'the body did not arrive in time: 1 s for each 64 KiB, and what the server allows beyond that',
  { close: true },
);

/**
 * Refuses a body that does not fit into the memory for bodies now. The body is not read, so the connection closes.
 */
export function outOfMemory(overload: BodyOverload): Answer {
  const headers = ['retry-after', String(usualRetryMs / 1000)];
  return { ...jsonAnswer(503, overloadedReply(overload), headers), close: true };
}

/** The status of a refusal whose cause is the service; undefined: `authenticate` has refused the caller. */
export function statusOfService(code: number): 500 | 503 | undefined {
  switch (code) {
    case ErrorCode.InternalError:
      return 500;
    case ErrorCode.Overloaded:
    case ErrorCode.DeadlineExceeded:
    case ErrorCode.Cancelled:
      return 503;
    default:
      return undefined;
  }
}

/** Answers where this server is at fault: code behind it broke its contract, or the mount can't work. */
export function failure(reason: string): Answer {
  return jsonAnswer(500, errorReply('null', ErrorCode.InternalError, { reason }));
}

/** Answers a request under which the service broke its contract, which is never to throw and never to reject. */
export const serviceFailed: Answer = failure('the service failed');

/** What the body of a request is answered with: a reply by 200 (undefined: 204), or what has a status of its own. */
export type BodyAnswer = Reply | Answer;

/** Answers the bodies of requests: the service itself, or a protocol on top of it. Never throws. */
export interface BodyHandler {
  /** @param body lent until this returns, where it is bytes */
  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink<BodyAnswer>): void;
  /** Whether replies have the headers `uncachedLines`. */
  readonly isUncached?: boolean | undefined;
  /** Whether the reply may be events; undefined: if the request names them. */
  readonly takesEvents?: boolean | undefined;
  /** What is answered before anybody is asked who calls, and before a body is read; undefined: it is a call. */
  early?(): Answer | undefined;
  /** Puts the refusals of this edge into the protocol's own words. */
  readonly reword?: ((answer: Answer) => Answer) | undefined;
}

export function isAnswer(answer: BodyAnswer): answer is Answer {
  return typeof answer === 'object' && 'status' in answer;
}

/** Whether a client has the representation of this ETag: a weak comparison with its list (RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

/**
 * How long a client may take to send a body, or to read a large reply, which both stay in memory meanwhile: at 64 KiB/s,
 * and the milliseconds that an option allows on top of that. By default, a reply of 25 MiB gets 410 s.
 */
export function transferTimeoutMs(bytes: number, allowedMs: number): number {
  return Math.min(allowedMs + (bytes / (64 * 1024)) * 1000, maxDelayMs);
}

const noLines: readonly string[] = [];

/**
 * The headers that tell a caller its rate limit (draft-ietf-httpapi-ratelimit-headers-11): flat, name and value.
 * Seconds are rounded up, so that a caller who waits that long finds calls left. Browsers show such headers to a page
 * only where they are exposed.
 */
export function rateLimitLines(notice: RateNotice | undefined): readonly string[] {
  if (notice === undefined) return noLines;
  const { quota, windowSeconds, left, resetMs } = notice;
  return [
    'ratelimit-policy',
    `"default";q=${quota};w=${windowSeconds}`,
    'ratelimit',
    `"default";r=${left};t=${Math.ceil(resetMs / 1000)}`,
    'access-control-expose-headers',
    'ratelimit, ratelimit-policy',
  ];
}

/** Of an answer that no cache may keep, and that no browser may take for another type than it says. */
export const uncachedLines: readonly string[] = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
];

/** Headers of replies, made once. */
export interface ReplyLines {
  /** Flat: name, value, name, value. */
  readonly lines: readonly string[];
  /**
   * The headers of a JSON reply for uWebSockets.js, as one header: the name of the first, and its value followed by
   * the lines of the others. Each header written costs a crossing into C++. They are bytes because uWebSockets.js
   * measures and copies text, but takes bytes as they are.
   */
  readonly jsonName: ArrayBuffer;
  readonly jsonValue: ArrayBuffer;
}

/** The CORS headers of replies to one origin: none where no page of another origin may read the reply. */
export interface CorsLines extends ReplyLines {
  /** The same, and `uncachedLines`. */
  readonly uncached: ReplyLines;
}

/** For what only pages of this server's own origin may read. */
export const noCors: CorsLines = toCorsLines([]);

/** For what every page may read, whatever `corsOrigin` lists. */
export const anyCors: CorsLines = toCorsLines(['access-control-allow-origin', '*']);

export type Cors = (origin: string | undefined) => CorsLines;

function toCorsLines(lines: readonly string[]): CorsLines {
  return { ...toLines(lines), uncached: toLines([...uncachedLines, ...lines]) };
}

function toLines(lines: readonly string[]): ReplyLines {
  let jsonValue = 'application/json';
  for (let i = 0; i < lines.length; i += 2) jsonValue += `\r\n${lines[i]}: ${lines[i + 1]}`;
  const bytesOf = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;
  return { lines, jsonName: bytesOf('content-type'), jsonValue: bytesOf(jsonValue) };
}

/**
 * Makes the lookup of an origin's headers. With a list of origins, a matching origin gets the entry from the list,
 * never the header that it sent; any other origin gets none; and caches are told that replies vary by origin.
 */
export function createCors({
  corsOrigin,
  corsCredentials,
}: Pick<Config, 'corsOrigin' | 'corsCredentials'>): Cors {
  if (corsOrigin === '*') return () => anyCors;
  const vary = ['vary', 'origin'];
  const foreign = toCorsLines(vary);
  const others = corsCredentials ? ['access-control-allow-credentials', 'true', ...vary] : vary;
  const known = new Map(
    corsOrigin.map((entry) => [
      entry,
      toCorsLines(['access-control-allow-origin', entry, ...others]),
    ]),
  );
  return (origin) => (origin === undefined ? foreign : (known.get(origin) ?? foreign));
}

/** What the answer to a preflight says. */
interface PreflightFacts {
  /** The methods of the path, as the header `allow` has them. */
  readonly allow: string;
  /** Those among them that pages may send; undefined: all. */
  readonly methods?: string;
  /** Names of request headers that pages may send, in lower case. */
  readonly headers: readonly string[];
  /** Names of headers that pages may read. */
  readonly exposed?: readonly string[];
}

/** The answer to a preflight, without the headers of the origin. */
export function preflight({
  allow,
  methods = allow,
  headers,
  exposed = [],
}: PreflightFacts): Answer {
  return bodyless(204, [
    'allow',
    allow,
    'access-control-allow-methods',
    methods,
    'access-control-allow-headers',
    [...new Set(headers)].join(', '),
    ...(exposed.length === 0 ? [] : ['access-control-expose-headers', exposed.join(', ')]),
    'access-control-max-age',
    '86400',
  ]);
}
