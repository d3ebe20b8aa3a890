import { isObject } from '../../core/base/value-kinds.ts';
import { usualRetryMs } from '../../core/dispatch/call.ts';
import { isErrorStatus } from '../../core/procedures/declarations.ts';
import { ErrorCode, type OverloadReason, standardErrorText } from '../../core/protocol/errors.ts';
import { membersAt, readableText } from '../../core/protocol/exact.ts';
import { type Answer, statusOfService, uncachedLines } from '../../server/http/edge/answer.ts';
import { type Operation, statusOfCode } from './operation.ts';

/** Errors as problem documents (RFC 9457), with the statuses that caches, proxies and browsers understand. */

/** The errors of this service, each with the last part of its URN. */
const urns = new Map<number, string>([
  [ErrorCode.ParseError, 'parse-error'],
  [ErrorCode.InvalidRequest, 'invalid-request'],
  [ErrorCode.MethodNotFound, 'method-not-found'],
  [ErrorCode.InvalidParams, 'invalid-params'],
  [ErrorCode.InternalError, 'internal-error'],
  [ErrorCode.Overloaded, 'overloaded'],
  [ErrorCode.DeadlineExceeded, 'deadline-exceeded'],
  [ErrorCode.WorkerLost, 'worker-lost'],
  [ErrorCode.Cancelled, 'cancelled'],
  [ErrorCode.LimitExceeded, 'limit-exceeded'],
]);

/** The limits of a caller's own: others are served meanwhile. */
const callerReasons: ReadonlySet<unknown> = new Set<OverloadReason>([
  'rate',
  'in-flight-per-caller',
  'share',
]);

/** What decides a status beside the code. */
interface ErrorFacts {
  readonly reason?: unknown;
  readonly retry?: unknown;
  readonly retryAfterMs?: unknown;
}

function statusOf({ code, facts }: ErrorParts, operation: Operation | undefined): number {
  switch (code) {
    case ErrorCode.ParseError:
    case ErrorCode.InvalidRequest:
    case ErrorCode.InvalidParams:
      return 400;
    case ErrorCode.MethodNotFound:
      // With a reason: there is such a procedure, and it streams to those who take events.
      return facts.reason === undefined ? 404 : 406;
    case ErrorCode.InternalError:
      return 500;
    case ErrorCode.DeadlineExceeded:
      // Not 408, after which browsers and proxies send the request again.
      return 504;
    case ErrorCode.Overloaded:
    case ErrorCode.WorkerLost:
    case ErrorCode.Cancelled:
      // A call that may have run is no 502 to 504: these invite proxies to send it again.
      if (facts.retry !== true) return 500;
      return callerReasons.has(facts.reason) ? 429 : 503;
    case ErrorCode.LimitExceeded:
      return facts.reason === 'params' ? 413 : 500;
    default:
      return operation?.errors.get(code)?.status ?? statusOfCode(code);
  }
}

/** Longer data is not read to find out the status: none that this service makes is so long. */
const maxFactsLength = 4096;

/** An error of JSON-RPC, taken apart. Its message and its data stay JSON text, to the letter. */
interface ErrorParts {
  readonly code: number;
  readonly message: string;
  readonly data: string | undefined;
  readonly facts: ErrorFacts;
}

/** @param text JSON of an error object that this service has made */
function partsOf(text: string): ErrorParts {
  const readable = readableText(text);
  const found = membersAt(readable, 0, text.length, ['code', 'message', 'data']);
  const part = (name: 'code' | 'message' | 'data'): string | undefined => {
    const place = found?.[name];
    return place && text.slice(place.start, place.end);
  };
  const data = part('data');
  const facts: unknown =
    data === undefined || data.length > maxFactsLength ? undefined : JSON.parse(data);
  return {
    code: Number(part('code')),
    message: part('message') ?? '""',
    data,
    facts: isObject(facts) ? facts : {},
  };
}

/** The JSON text of a problem document. Its `code` and `data` are those of JSON-RPC, so that one table serves both. */
function problemText(
  status: number,
  { code, message, data, facts }: ErrorParts,
  operation?: Operation,
): string {
  const urn = urns.get(code);
  const members = [
    `"type":"${urn === undefined ? 'about:blank' : `urn:tandem-rpc:${urn}`}"`,
    `"title":${message}`,
    `"status":${status}`,
    `"code":${code}`,
  ];
  const name = urn === undefined ? operation?.errors.get(code)?.name : undefined;
  if (name !== undefined) members.push(`"name":${JSON.stringify(name)}`);
  const { reason } = facts;
  // A sentence. Of one word, such as `queue`, the code says more.
  if (urn !== undefined && typeof reason === 'string' && reason.includes(' ')) {
    members.push(`"detail":${JSON.stringify(reason)}`);
  }
  if (data !== undefined) members.push(`"data":${data}`);
  return `{${members.join(',')}}`;
}

const problemLines: readonly string[] = [
  'content-type',
  'application/problem+json',
  ...uncachedLines,
];

/** How the refusals of the HTTP edge begin. */
const edgeError = '{"jsonrpc":"2.0","id":null,"error":';

export class Problems {
  /** Goes with each 401, which must say how to log in (RFC 9110, 15.5.2). */
  readonly #challenge: readonly string[];

  /** @param challenge the value of WWW-Authenticate */
  constructor(challenge: string) {
    this.#challenge = ['www-authenticate', challenge];
  }

  /**
   * The answer to a call that failed.
   *
   * @param text JSON of the error
   * @param lines further headers, flat
   */
  ofCall(text: string, operation: Operation | undefined, lines: readonly string[]): Answer {
    const parts = partsOf(text);
    return this.#answer(statusOf(parts, operation), parts, lines, operation);
  }

  /** The answer to a caller who is refused, or about whom nobody could be asked. @param text JSON of the error */
  ofRefusal(text: string): Answer {
    const parts = partsOf(text);
    const { code } = parts;
    const own = isErrorStatus(code) ? code : 401;
    // Of the service: the hook has thrown something else, or has not answered in time.
    const status = statusOfService(code) === undefined ? own : statusOf(parts, undefined);
    return this.#answer(status, parts, []);
  }

  /** The answer to a request that is no call. @param data of the error, a JSON value */
  of(status: number, code: ErrorCode, data: object, lines: readonly string[] = []): Answer {
    return this.#answer(status, partsOf(standardErrorText(code, data)), lines);
  }

  /** A refusal of the HTTP edge as a problem: its status stays, and its own headers. */
  readonly reword = (answer: Answer): Answer => {
    const { body, status, headers, close } = answer;
    if (status < 400 || typeof body !== 'string' || !body.startsWith(edgeError)) return answer;
    // Behind the content type, which comes first.
    const own = headers.slice(2);
    return { ...this.#answer(status, partsOf(body.slice(edgeError.length, -1)), own), close };
  };

  /** The text of a problem within a stream. @param text JSON of the error */
  ofStream(text: string, operation: Operation): string {
    const parts = partsOf(text);
    // The service ends. No proxy reads the status of what is within a reply.
    const status = parts.code === ErrorCode.Cancelled ? 503 : statusOf(parts, operation);
    return problemText(status, parts, operation);
  }

  #answer(
    status: number,
    parts: ErrorParts,
    lines: readonly string[],
    operation?: Operation,
  ): Answer {
    const challenge = status === 401 ? this.#challenge : [];
    // The edge has said so already where it refuses a body for which there is no memory.
    const retry = lines.includes('retry-after') ? [] : retryLines(status, parts);
    return {
      status,
      headers: [...problemLines, ...challenge, ...lines, ...retry],
      body: problemText(status, parts, operation),
      close: false,
    };
  }
}

/** When to come back, if the service could serve the call later. */
function retryLines(status: number, { facts }: ErrorParts): readonly string[] {
  if (status !== 429 && status !== 503) return [];
  const { retryAfterMs } = facts;
  const ms = typeof retryAfterMs === 'number' ? retryAfterMs : usualRetryMs;
  return [
    'retry-after',
    String(Math.max(1, Math.ceil(ms / 1000))),
    'access-control-expose-headers',
    'retry-after',
  ];
}
