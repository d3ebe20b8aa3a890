import type { HttpOptions } from './http-options.ts';
import type { ProxyHeaders } from './peer.ts';

/** How many milliseconds a caller may ask for is not bounded; past this, numbers lose their ones. */
const maxTimeout = Number.MAX_SAFE_INTEGER;

/** The value of a digits-only text, NaN for anything else. */
function digits(text: string): number {
  if (text.length === 0) return Number.NaN;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 48 || c > 57) return Number.NaN;
  }
  return Number(text);
}

/** Which headers are wanted beside those that every request is checked by. */
export type HeadOptions = Pick<
  HttpOptions,
  'forwardHeaders' | 'authenticate' | 'trustedProxies' | 'callerHeader'
>;

/**
 * The headers this service reads, gathered in one pass and used again for the next request: `reset()`,
 * then `add` for each header, then read, all before anything else runs. Repeated headers are joined with
 * a comma, as lists are in HTTP, which no check then takes for a single value.
 */
export class RequestHead {
  /** Names and values, and the four bytes around each pair. */
  bytes = 0;
  count = 0;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** -1: absent; NaN: not digits, or sent twice. */
  contentLength = -1;
  transferEncoding: string | undefined;
  host: string | undefined;
  /** How many of them were sent. */
  hosts = 0;
  origin: string | undefined;
  ifNoneMatch: string | undefined;
  /** Milliseconds of `rpc-timeout-ms`, NaN: no positive integer; undefined: absent. */
  timeoutMs: number | undefined;
  /** The client wants the connection closed; as uWebSockets.js reads it: any value of five letters. */
  closes = false;
  traceparent: string | undefined;
  tracestate: string | undefined;
  /** The headers named in `forwardHeaders` that were sent. */
  forwarded: Record<string, string> | undefined;
  /** Every header, where they are wanted. Without a prototype: a name may be anything. */
  all: Record<string, string | undefined> | undefined;
  #proxyForwarded: string | undefined;
  #proxyForwardedFor: string | undefined;
  #callerHeader: string | undefined;
  readonly #keepsAll: boolean;
  readonly #keepsProxies: boolean;
  readonly #callerName: string | undefined;
  /** Whether there is more to be done than to look for those above. */
  readonly #keeps: boolean;
  readonly #forward: ReadonlySet<string> | undefined;

  constructor({ forwardHeaders, authenticate, trustedProxies, callerHeader }: HeadOptions) {
    this.#callerName = callerHeader;
    this.#keepsAll = authenticate !== undefined;
    this.#keepsProxies = trustedProxies.length > 0;
    this.#keeps = this.#keepsAll || this.#keepsProxies || forwardHeaders.length > 0;
    if (forwardHeaders.length > 0) {
      this.#forward = new Set(forwardHeaders.map((name) => name.toLowerCase()));
    }
  }

  reset(): this {
    this.bytes = 0;
    this.count = 0;
    this.contentType = undefined;
    this.contentEncoding = undefined;
    this.contentLength = -1;
    this.transferEncoding = undefined;
    this.host = undefined;
    this.hosts = 0;
    this.origin = undefined;
    this.ifNoneMatch = undefined;
    this.timeoutMs = undefined;
    this.closes = false;
    this.traceparent = undefined;
    this.tracestate = undefined;
    this.forwarded = undefined;
    this.all = undefined;
    this.#proxyForwarded = undefined;
    this.#proxyForwardedFor = undefined;
    this.#callerHeader = undefined;
    return this;
  }

  /** What proxies say of the caller; undefined: nobody is to be believed. */
  get proxyHeaders(): ProxyHeaders | undefined {
    if (!this.#keepsProxies) return undefined;
    return {
      forwarded: this.#proxyForwarded,
      forwardedFor: this.#proxyForwardedFor,
      caller: this.#callerHeader,
    };
  }

  /** @param name in lower case. A bound function: it is handed to the native parser as it is. */
  readonly add = (name: string, value: string): void => {
    this.count++;
    this.bytes += name.length + value.length + 4;
    // By length first: most headers are then passed over without a comparison of text.
    switch (name.length) {
      case 4:
        if (name === 'host') {
          this.host = join(this.host, value);
          this.hosts++;
        }
        break;
      case 6:
        if (name === 'origin') this.origin = join(this.origin, value);
        break;
      case 10:
        if (name === 'connection' && value.length === 5) this.closes = true;
        else if (name === 'tracestate') this.tracestate = join(this.tracestate, value);
        break;
      case 11:
        // Sent twice it is none: the joined text follows no grammar.
        if (name === 'traceparent') this.traceparent = join(this.traceparent, value);
        break;
      case 12:
        if (name === 'content-type') this.contentType = join(this.contentType, value);
        break;
      case 13:
        if (name === 'if-none-match') this.ifNoneMatch = join(this.ifNoneMatch, value);
        break;
      case 14:
        if (name === 'content-length') {
          this.contentLength = this.contentLength === -1 ? digits(value) : Number.NaN;
        } else if (name === 'rpc-timeout-ms') {
          const ms = this.timeoutMs === undefined ? digits(value) : Number.NaN;
          this.timeoutMs = ms > 0 ? Math.min(ms, maxTimeout) : Number.NaN;
        }
        break;
      case 16:
        if (name === 'content-encoding') this.contentEncoding = join(this.contentEncoding, value);
        break;
      case 17:
        if (name === 'transfer-encoding')
          this.transferEncoding = join(this.transferEncoding, value);
        break;
    }
    if (this.#keeps) this.#keep(name, value);
  };

  #keep(name: string, value: string): void {
    if (this.#forward?.has(name)) {
      this.forwarded ??= {};
      this.forwarded[name] = join(this.forwarded[name], value);
    }
    if (this.#keepsProxies) {
      if (name === 'forwarded') this.#proxyForwarded = join(this.#proxyForwarded, value);
      else if (name === 'x-forwarded-for')
        this.#proxyForwardedFor = join(this.#proxyForwardedFor, value);
    }
    if (this.#keepsProxies && name === this.#callerName)
      this.#callerHeader = join(this.#callerHeader, value);
    if (!this.#keepsAll) return;
    this.all ??= Object.create(null) as Record<string, string | undefined>;
    const before = this.all[name];
    // RFC 6265, 5.4 and RFC 9113, 8.2.3: cookies are no list with commas.
    this.all[name] =
      name === 'cookie' && before !== undefined ? `${before}; ${value}` : join(before, value);
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
