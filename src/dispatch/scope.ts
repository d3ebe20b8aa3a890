import { clockMs } from '../base/clock.ts';
import type { RequestFacts } from '../router/lazy-context.ts';
import type { Verdict } from './authenticate.ts';
import type { BodyLease } from './body-memory.ts';
import type { RateNotice } from './quota/rate-limit.ts';
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
}

/** Called once when the caller has gone. */
export interface CancelListener {
  onCancelled(): void;
}

/** Told how the one call of a request has ended, where its reply does not say enough: a notification has none. */
export interface CallWatcher {
  /** See `CallObserver.onCall`. */
  onCallEnd(code: number, runUs: number): void;
}

/** The value of `headers` where none were sent. */
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

const noFacts: ScopeFacts = Object.freeze({});

/**
 * One request from its receipt to its reply. A transport makes one scope per request, and calls `cancel()` when the
 * caller has gone; calls that wait or run listen to the scope. A scope costs no AbortController: a handler's signal
 * is made only when the handler reads it.
 */
export class RequestScope implements RequestFacts {
  /** When the request was received, by `clockMs`. */
  readonly receivedAt: number;
  /** Set by whoever traces the request, before its calls are read. */
  trace: RequestTrace | undefined = undefined;
  readonly #facts: ScopeFacts;
  #timeoutMs: number | undefined;
  #cancelled = false;
  #authText: string | undefined;
  #headersText: string | undefined;
  /** What `authenticate` says of the caller, or the promise of it; undefined: nobody was asked. */
  verdict: Verdict | Promise<Verdict> | undefined;
  /** The key of the caller, once somebody has asked for it: see CallerKeys. */
  callerKey: string | undefined;
  /** Whether the request counts for what its caller has in flight; undefined: not yet. Kept by CallerGate. */
  gateState: 'inside' | 'left' | undefined;
  /** What the reply tells the caller of its rate limit; undefined: nothing. */
  rateNotice: RateNotice | undefined;
  /** Who reads the streams of the request; undefined: nobody can. Set by the transport. */
  streams: StreamHost | undefined;
  /** The buffer of a large body; undefined: the body is small, or lies in its caller's own memory. */
  body: BodyLease | undefined;
  /** Milliseconds that a call may run, where the process that sent it here has said so: in place of its procedure's `timeoutMs`. */
  callTimeoutMs: number | undefined;
  /** Set by a transport whose requests are single calls. */
  watcher: CallWatcher | undefined;
  /** Most requests have one call, so most have one listener. */
  #listener: CancelListener | undefined;
  #others: Set<CancelListener> | undefined;

  /** @param facts kept, and read when a call asks: a fact that is costly to find may be a getter */
  constructor(facts: ScopeFacts = noFacts, receivedAt: number = clockMs()) {
    this.#facts = facts;
    this.#timeoutMs = facts.timeoutMs;
    this.receivedAt = receivedAt;
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

  get authText(): string | undefined {
    return this.#authText;
  }

  /**
   * Sets what is known of the caller.
   *
   * @param authText JSON text; undefined: `authenticate` said nothing of the caller
   */
  admit(authText: string | undefined): void {
    this.#authText = authText;
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

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Milliseconds from receipt for the whole request; undefined: no limit. */
  get timeoutMs(): number | undefined {
    return this.#timeoutMs;
  }

  /** Milliseconds from receipt that the caller itself gives the request; undefined: it did not say. */
  get callerTimeoutMs(): number | undefined {
    return this.#facts.timeoutMs;
  }

  /** Lowers the limit of the whole request, never raises it. */
  limitTo(timeoutMs: number): void {
    if (this.#timeoutMs === undefined || timeoutMs < this.#timeoutMs) this.#timeoutMs = timeoutMs;
  }

  /** When the caller stops waiting, by `clockMs`; Infinity where the request has no limit. */
  get expiresAt(): number {
    return this.#timeoutMs === undefined
      ? Number.POSITIVE_INFINITY
      : this.receivedAt + this.#timeoutMs;
  }

  /** Tells the calls that the caller has gone. Idempotent. */
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
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
