import { clockMs } from '../base/clock.ts';
import type { RequestFacts } from '../router/lazy-context.ts';
import type { Verdict } from './authenticate.ts';
import type { BodyLease } from './body-memory.ts';
import type { RateNotice } from './quota/rate-limit.ts';
import { type RequestTrace, toTraceparent, toTracestate } from './trace.ts';

/** What a transport knows of one request; every call of the request shares it. */
export interface ScopeFacts {
  /** Metadata of the request that procedures may see, by lower-case names. Frozen when they are first asked for. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  /** What `fairBy` names beside the caller's identity, where somebody who is trusted said it. */
  readonly callerHeader?: string | undefined;
  /** Milliseconds from receipt that the caller waits for the whole request. */
  readonly timeoutMs?: number | undefined;
  /** W3C Trace Context as the caller sent it; ignored where it is invalid. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** Told once that the caller has gone. */
export interface CancelListener {
  onCancelled(): void;
}

/** What `headers` is where none were sent. */
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

const noFacts: ScopeFacts = Object.freeze({});

/**
 * One request from its receipt to its reply. A transport makes one per request and calls `cancel()` when
 * the caller has gone; calls that wait or run listen to it. Costs no AbortController: a handler's signal
 * is made only when it is read.
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
  /** What `authenticate` says of the caller, once it is known; undefined: nobody was asked. */
  verdict: Verdict | Promise<Verdict> | undefined;
  /** Whom the request is of, once somebody has asked: see CallerKeys. */
  callerKey: string | undefined;
  /** Whether it counts for what its caller has in flight: see CallerGate. */
  place: 'held' | 'left' | undefined;
  /** What its reply says of the caller's rate limit; undefined: nothing. */
  rateNotice: RateNotice | undefined;
  /** What a large body lies in; undefined: it is small, or memory of the caller's. */
  body: BodyLease | undefined;
  /** Most requests have one call, so most have one listener. */
  #listener: CancelListener | undefined;
  #others: Set<CancelListener> | undefined;

  /** @param facts kept, and read when a call asks: what is costly to know may be a getter */
  constructor(facts: ScopeFacts = noFacts, receivedAt: number = clockMs()) {
    this.#facts = facts;
    this.#timeoutMs = facts.timeoutMs;
    this.receivedAt = receivedAt;
  }

  get headers(): Readonly<Record<string, string>> {
    const { headers } = this.#facts;
    // All calls of the request share them.
    return headers === undefined ? noHeaders : Object.freeze(headers);
  }

  /** They as JSON text, undefined where there are none: what crosses to a worker. */
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

  /** The caller is known from here on. @param authText JSON text; undefined: there is nothing to say of the caller */
  admit(authText: string | undefined): void {
    this.#authText = authText;
  }

  /** Checked at each reading: most requests bring none, and most handlers ask for none. */
  get traceparent(): string | undefined {
    const { traceparent } = this.#facts;
    return traceparent === undefined ? undefined : toTraceparent(traceparent);
  }

  /** Without a valid traceparent there is none. */
  get tracestate(): string | undefined {
    const { tracestate } = this.#facts;
    if (tracestate === undefined || this.traceparent === undefined) return undefined;
    return toTracestate(tracestate);
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Milliseconds from receipt for the whole request, undefined: no limit. */
  get timeoutMs(): number | undefined {
    return this.#timeoutMs;
  }

  /** Lowers the limit of the whole request, never raises it. */
  limitTo(timeoutMs: number): void {
    if (this.#timeoutMs === undefined || timeoutMs < this.#timeoutMs) this.#timeoutMs = timeoutMs;
  }

  /** When the caller stops waiting, by `clockMs`; Infinity without a limit of its own. */
  get expiresAt(): number {
    return this.#timeoutMs === undefined
      ? Number.POSITIVE_INFINITY
      : this.receivedAt + this.#timeoutMs;
  }

  /** The caller has gone. Idempotent. */
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
