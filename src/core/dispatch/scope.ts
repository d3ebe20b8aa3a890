import { clockMs } from '../base/clock.ts';
import type { RequestFacts } from '../procedures/lazy-context.ts';
import type { RawBytes } from '../procedures/raw-bytes.ts';
import { jsonTextOf } from '../protocol/json-value.ts';
import type { Verdict } from './authenticate.ts';
import type { BodyLease } from './body-lease.ts';
import type { Account, Holder, Share } from './share.ts';
import type { StreamHost } from './streams/contract.ts';
import { type RequestTrace, toTraceparent, toTracestate } from './trace.ts';

/** What a transport knows of one request. Every call of the request shares these facts. */
export interface ScopeFacts {
  /** Metadata of the request that procedures may see, by lower-case names. Frozen when they are first asked for. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  /** The header that `fairBy` names, where a trusted proxy sent it. */
  readonly callerHeader?: string | undefined;
  /** Milliseconds from receipt that the caller waits for the whole request. */
  readonly timeoutMs?: number | undefined;
  /** W3C Trace Context as the caller sent it; ignored where it is invalid. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly showsFaults?: boolean | undefined;
}

/** What a reply says of the limit (draft-ietf-httpapi-ratelimit-headers). */
export interface RateNotice {
  /** Calls that may be taken at once, in so many seconds again. */
  readonly quota: number;
  readonly windowSeconds: number;
  readonly left: number;
  readonly resetMs: number;
}

/** How a call ended, as `CallObserver.onCall` hears it. */
export interface CallFigures {
  code: number;
  runUs: number;
}

/** Called once when the caller has gone. */
export interface CancelListener {
  onCancelled(): void;
}

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

const noFacts: ScopeFacts = Object.freeze({});

/**
 * One request from its receipt to its reply. A transport makes one scope per request, and calls `cancel()` when the
 * caller has gone; calls that wait or run listen to the scope. A scope costs no AbortController: a handler's signal
 * is made only when the handler reads it.
 */
export class RequestScope implements RequestFacts, Holder<RequestScope> {
  /** When the request was received, by `clockMs`. */
  readonly receivedAt: number;
  /** Set by whoever traces the request, before its calls are read. */
  trace: RequestTrace | undefined = undefined;
  /** Whether its caller has gone. Set by `cancel` alone. */
  cancelled = false;
  /** Milliseconds from receipt for the whole request; undefined: no limit. Set by `limitTo` alone. */
  timeoutMs: number | undefined;
  /** When the caller stops waiting, by `clockMs`; Infinity if the request has no limit. */
  expiresAt: number;
  readonly #facts: ScopeFacts;
  /** What is known of the caller, JSON text; undefined: `authenticate` said nothing. */
  authText: string | undefined;
  #headersText: string | undefined;
  /** What `authenticate` says of the caller, or the promise of it; undefined: nobody was asked. */
  verdict: Verdict | Promise<Verdict> | undefined;
  /** The key of the caller, once somebody has asked for it: see CallerKeys. */
  callerKey: string | undefined;
  /** Whether the request counts for what its caller has in flight; undefined: not yet. Kept by CallerLimiter. */
  limiterState: 'inside' | 'left' | undefined;
  /** What the reply tells the caller of its rate limit; undefined: nothing. */
  rateNotice: RateNotice | undefined;
  /** Who reads the streams of the request; undefined: nobody can. Set by the transport. */
  streams: StreamHost | undefined;
  /** The buffer of a large body; undefined: the body is small, or lies in its caller's own memory. */
  body: BodyLease | undefined;
  /** Bytes beside the JSON of the one call of the request; undefined: all is JSON. Set by the transport. */
  rawBytes: RawBytes | undefined;
  /** Milliseconds that a call may run, where the process that sent it here has said so: instead of its procedure's `timeoutMs`. */
  callTimeoutMs: number | undefined;
  /** Of the requests in flight, while this is one of them: see {@link Holder}. */
  #inFlight: Share<RequestScope> | undefined;
  readonly amount = 1;
  slot: number | undefined;
  account: Account | undefined;
  /**
   * Filled in when a call ends, for a transport whose requests are single calls: a reply does not say as much, and a
   * notification has none. Set by the transport; undefined: it needs none.
   */
  ending: CallFigures | undefined;
  #listener: CancelListener | undefined;
  #others: Set<CancelListener> | undefined;

  /** @param facts kept, and read when a call asks: a fact that is costly to find may be a getter */
  constructor(facts: ScopeFacts = noFacts, receivedAt: number = clockMs()) {
    this.#facts = facts;
    this.receivedAt = receivedAt;
    this.timeoutMs = facts.timeoutMs;
    this.expiresAt = receivedAt + (facts.timeoutMs ?? Number.POSITIVE_INFINITY);
  }

  get headers(): Readonly<Record<string, string>> {
    const { headers } = this.#facts;
    // All calls of the request share this object.
    return headers === undefined ? noHeaders : Object.freeze(headers);
  }

  /** The headers as JSON text, the form in which they cross to a worker; undefined: there are none. */
  get headersText(): string | undefined {
    const { headers } = this.#facts;
    if (headers === undefined) return undefined;
    this.#headersText ??= JSON.stringify(headers);
    return this.#headersText;
  }

  get remoteAddress(): string | undefined {
    return this.#facts.remoteAddress;
  }

  get callerHeader(): string | undefined {
    return this.#facts.callerHeader;
  }

  /** Whether the caller is a developer on this machine, who sees the messages of internal errors. */
  get showsFaults(): boolean {
    return this.#facts.showsFaults === true;
  }

  /** Checked when it is read, since most requests have none and most handlers do not read it. */
  get traceparent(): string | undefined {
    const { traceparent } = this.#facts;
    return traceparent === undefined ? undefined : toTraceparent(traceparent);
  }

  /** undefined where there is no valid traceparent. */
  get tracestate(): string | undefined {
    const { tracestate } = this.#facts;
    if (tracestate === undefined || this.traceparent === undefined) return undefined;
    return toTracestate(tracestate);
  }

  /** Milliseconds from receipt that the caller itself gives the request; undefined: it did not say. */
  get callerTimeoutMs(): number | undefined {
    return this.#facts.timeoutMs;
  }

  /** Lowers the limit of the whole request, never raises it. */
  limitTo(timeoutMs: number): void {
    if (this.timeoutMs !== undefined && timeoutMs >= this.timeoutMs) return;
    this.timeoutMs = timeoutMs;
    this.expiresAt = this.receivedAt + timeoutMs;
  }

  get scope(): this {
    return this;
  }

  /** Counts the request as in flight, until `leaveFlight` or until its caller has gone. */
  enterFlight(inFlight: Share<RequestScope>): void {
    if (this.cancelled) return;
    this.#inFlight = inFlight;
    inFlight.take(this);
  }

  /** Idempotent. */
  leaveFlight(): void {
    this.#inFlight?.give(this);
  }

  /** Tells the calls that the caller has gone. Idempotent. */
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.leaveFlight();
    const listener = this.#listener;
    const others = this.#others;
    this.#listener = undefined;
    this.#others = undefined;
    listener?.onCancelled();
    if (others !== undefined) for (const other of others) other.onCancelled();
  }

  addListener(listener: CancelListener): void {
    if (this.#listener === undefined) {
      this.#listener = listener;
    } else {
      this.#others ??= new Set();
      this.#others.add(listener);
    }
  }

  removeListener(listener: CancelListener): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#others?.delete(listener);
  }
}

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
  if (auth !== undefined) scope.authText = jsonTextOf(auth, 'option auth');
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

/** A caller may ask for any number of milliseconds. Above this one a double can't hold every integer. */
const maxTimeout = Number.MAX_SAFE_INTEGER;

/** What is said to whoever sends another value. */
export const badTimeoutReason = 'rpc-timeout-ms must be a positive integer';

/**
 * Reads the value of the header `rpc-timeout-ms`, in which callers say how long they wait.
 *
 * @returns milliseconds; NaN: the value is not a positive integer
 */
export function parseTimeout(value: string): number {
  const ms = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  return ms > 0 ? Math.min(ms, maxTimeout) : Number.NaN;
}
