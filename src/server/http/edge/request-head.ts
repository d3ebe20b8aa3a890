import { isLoopback } from '../../../core/base/loopback.ts';
import type { Config } from '../../../core/config/config.ts';
import { parseTimeout, type ScopeFacts } from '../../../core/dispatch/scope.ts';
import { type Peers, type ProxyHeaders, v6Text } from './peer.ts';

function digits(text: string): number {
  if (text.length === 0) return Number.NaN;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 48 || c > 57) return Number.NaN;
  }
  return Number(text);
}

/** The headers by which a client asks for a WebSocket (RFC 6455, 4.1). Repeated headers are joined with a comma. */
interface UpgradeHead {
  upgrade?: string;
  connection?: string;
  version?: string;
  key?: string;
  protocol?: string;
}

/** The headers that repeat what a message of MCP says. Repeated headers are joined with a comma. */
export interface McpHeaders {
  version: string | undefined;
  method: string | undefined;
  name: string | undefined;
}

/** Which headers are kept beside those that every request is checked by. See `HttpOptions`. */
interface HeadOptions extends Pick<Config, 'forwardHeaders' | 'trustedProxies'> {
  readonly authenticate: object | undefined;
  readonly callerHeader: string | undefined;
  readonly showsFaults?: boolean;
}

/**
 * The headers this service reads, gathered in one pass. The object is used again for the next request: `reset()`,
 * then `add` for each header, then all reading, before any other code runs. Repeated headers are joined with a comma,
 * as HTTP joins lists, so that no check takes them for a single value.
 */
export class RequestHead {
  /** Bytes of all names and values, and of the four bytes around each pair. */
  bytes = 0;
  count = 0;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** -1: not sent; NaN: not digits, or sent twice. */
  contentLength = -1;
  transferEncoding: string | undefined;
  /** HTTP/1.0, which knows no chunks: a Transfer-Encoding means nothing certain there (RFC 9112, 6.1). */
  isOld = false;
  host: string | undefined;
  hosts = 0;
  origin: string | undefined;
  accept: string | undefined;
  acceptEncoding: string | undefined;
  ifNoneMatch: string | undefined;
  /** Where a browser's request comes from, and what for (https://w3c.github.io/webappsec-fetch-metadata). */
  fetchSite: string | undefined;
  fetchMode: string | undefined;
  /** Milliseconds of `rpc-timeout-ms`; NaN: not a positive integer; undefined: not sent. */
  timeoutMs: number | undefined;
  /** Whether the client wants the connection closed. As in uWebSockets.js, any value of five letters says so. */
  closes = false;
  traceparent: string | undefined;
  tracestate: string | undefined;
  /** Undefined: none of these headers was sent. Made only where one was: nearly all requests are calls. */
  upgrade: UpgradeHead | undefined;
  mcp: McpHeaders | undefined;
  hasAuthorization = false;
  /** The headers named in `forwardHeaders` that were sent; undefined: none was. */
  forwarded: Record<string, string> | undefined;
  /** All headers, where `authenticate` wants them. The object has no prototype, since a header may have any name. */
  all: Record<string, string | undefined> | undefined;
  /** Whether a header was sent that only proxies add. */
  #isProxied = false;
  #proxyForwarded: string | undefined;
  #proxyForwardedFor: string | undefined;
  #callerHeader: string | undefined;
  readonly #keepsAll: boolean;
  readonly #keepsProxies: boolean;
  readonly #showsFaults: boolean;
  readonly #callerName: string | undefined;
  /** Whether any header must be kept beside those above. */
  readonly #keeps: boolean;
  readonly #forward: ReadonlySet<string> | undefined;

  constructor({
    forwardHeaders,
    authenticate,
    trustedProxies,
    callerHeader,
    showsFaults = false,
  }: HeadOptions) {
    this.#showsFaults = showsFaults;
    this.#callerName = callerHeader;
    this.#keepsAll = authenticate !== undefined;
    this.#keepsProxies = trustedProxies.length > 0;
    this.#keeps = this.#keepsAll || this.#keepsProxies || forwardHeaders.length > 0 || showsFaults;
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
    this.isOld = false;
    this.host = undefined;
    this.hosts = 0;
    this.origin = undefined;
    this.accept = undefined;
    this.acceptEncoding = undefined;
    this.ifNoneMatch = undefined;
    this.fetchSite = undefined;
    this.fetchMode = undefined;
    this.timeoutMs = undefined;
    this.closes = false;
    this.traceparent = undefined;
    this.tracestate = undefined;
    this.upgrade = undefined;
    this.mcp = undefined;
    this.hasAuthorization = false;
    this.forwarded = undefined;
    this.all = undefined;
    this.#isProxied = false;
    this.#proxyForwarded = undefined;
    this.#proxyForwardedFor = undefined;
    this.#callerHeader = undefined;
    return this;
  }

  /** Takes a request for one without a body, unless it says that it has one. */
  assumeNoBody(): void {
    if (this.contentLength === -1 && this.transferEncoding === undefined) this.contentLength = 0;
  }

  /** Whether the chunks of the body tell its length, and nothing else does. */
  get isChunked(): boolean {
    return (
      this.transferEncoding !== undefined &&
      this.transferEncoding.toLowerCase() === 'chunked' &&
      this.contentLength === -1 &&
      !this.isOld
    );
  }

  /**
   * Whether Accept names server-sent events. A range that would match anything does not name them: most clients send such
   * a range without thinking of streams.
   */
  get acceptsEvents(): boolean {
    return namesEvents(this.accept);
  }

  /** What proxies say of the caller; undefined: no proxy is trusted. */
  get proxyHeaders(): ProxyHeaders | undefined {
    if (!this.#keepsProxies) return undefined;
    return {
      forwarded: this.#proxyForwarded,
      forwardedFor: this.#proxyForwardedFor,
      caller: this.#callerHeader,
    };
  }

  /** Whether the caller sees the messages of internal errors, if its connection comes from this machine. */
  get mayShowFaults(): boolean {
    return this.#showsFaults && !this.#isProxied;
  }

  /**
   * A bound function, since the native parser is given it as it is.
   *
   * @param name in lower case
   */
  readonly add = (name: string, value: string): void => {
    this.count++;
    this.bytes += name.length + value.length + 4;
    // The length comes first: it rules out most headers without a comparison of text.
    switch (name.length) {
      case 4:
        if (name === 'host') {
          this.host = join(this.host, value);
          this.hosts++;
        }
        break;
      case 6:
        if (name === 'accept') this.accept = join(this.accept, value);
        else if (name === 'origin') this.origin = join(this.origin, value);
        break;
      case 7:
        if (name === 'upgrade') this.#addUpgrade('upgrade', value);
        break;
      case 8:
        if (name === 'mcp-name') this.#addMcp('name', value);
        break;
      case 10:
        if (name === 'connection') this.#addConnection(value);
        else if (name === 'mcp-method') this.#addMcp('method', value);
        else if (name === 'tracestate') this.tracestate = join(this.tracestate, value);
        break;
      case 11:
        // A traceparent that was sent twice becomes invalid: the joined text follows no grammar.
        if (name === 'traceparent') this.traceparent = join(this.traceparent, value);
        break;
      case 12:
        if (name === 'content-type') this.contentType = join(this.contentType, value);
        break;
      case 13:
        if (name === 'if-none-match') this.ifNoneMatch = join(this.ifNoneMatch, value);
        else if (name === 'authorization') this.hasAuthorization = true;
        break;
      case 14:
        if (name === 'content-length') {
          this.contentLength = this.contentLength === -1 ? digits(value) : Number.NaN;
        } else if (name === 'rpc-timeout-ms') {
          this.timeoutMs = this.timeoutMs === undefined ? parseTimeout(value) : Number.NaN;
        } else if (name === 'sec-fetch-site') {
          this.fetchSite = join(this.fetchSite, value);
        } else if (name === 'sec-fetch-mode') {
          this.fetchMode = join(this.fetchMode, value);
        }
        break;
      case 15:
        if (name === 'accept-encoding') this.acceptEncoding = join(this.acceptEncoding, value);
        break;
      case 16:
        if (name === 'content-encoding') this.contentEncoding = join(this.contentEncoding, value);
        break;
      case 17:
        if (name === 'transfer-encoding')
          this.transferEncoding = join(this.transferEncoding, value);
        else if (name === 'sec-websocket-key') this.#addUpgrade('key', value);
        break;
      case 20:
        if (name === 'mcp-protocol-version') this.#addMcp('version', value);
        break;
      case 21:
        if (name === 'sec-websocket-version') this.#addUpgrade('version', value);
        break;
      case 22:
        if (name === 'sec-websocket-protocol') this.#addUpgrade('protocol', value);
        break;
    }
    if (this.#keeps) this.#keep(name, value);
  };

  #addConnection(value: string): void {
    if (value.length === 5) this.closes = true;
    else if (value !== 'keep-alive') this.#addUpgrade('connection', value);
  }

  #addUpgrade(name: keyof UpgradeHead, value: string): void {
    this.upgrade ??= {};
    this.upgrade[name] = join(this.upgrade[name], value);
  }

  #addMcp(name: keyof McpHeaders, value: string): void {
    this.mcp ??= { version: undefined, method: undefined, name: undefined };
    this.mcp[name] = join(this.mcp[name], value);
  }

  #keep(name: string, value: string): void {
    if (this.#forward?.has(name)) {
      this.forwarded ??= {};
      this.forwarded[name] = join(this.forwarded[name], value);
    }
    if (this.#keepsProxies) {
      if (name === 'forwarded') this.#proxyForwarded = join(this.#proxyForwarded, value);
      else if (name === 'x-forwarded-for')
        this.#proxyForwardedFor = join(this.#proxyForwardedFor, value);
      if (name === this.#callerName) this.#callerHeader = join(this.#callerHeader, value);
    }
    if (name === 'forwarded' || name.startsWith('x-forwarded')) this.#isProxied = true;
    if (!this.#keepsAll) return;
    this.all ??= Object.create(null) as Record<string, string | undefined>;
    const before = this.all[name];
    // Cookies are joined with "; " (RFC 6265, 5.4 and RFC 9113, 8.2.3): they are no list with commas.
    this.all[name] =
      name === 'cookie' && before !== undefined ? `${before}; ${value}` : join(before, value);
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

export const eventStreamType = 'text/event-stream';

/** See {@link RequestHead.acceptsEvents}. */
export function namesEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const [range, parameters = ''] = eventRange.exec(accept) ?? [];
  return range !== undefined && !noWeight.test(parameters);
}

const eventRange = /(?:^|,)[ \t]*text\/event-stream[ \t]*(;[^,]*)?(?:,|$)/i;

/** The weight 0: a type with it is not accepted (RFC 9110, 12.4.2). */
const noWeight = /;[ \t]*q=0(?:\.0{0,3})?[ \t]*$/i;

/**
 * The text of a peer's address, in the same form for both servers: node:http writes `::ffff:127.0.0.1` for an IPv4 address
 * that is mapped to IPv6, uWebSockets.js `0000:0000:0000:0000:0000:ffff:7f00:0001`.
 */
export function addressText(address: string | undefined): string | undefined {
  if (address === undefined || address === '') return undefined;
  return address.includes(':') ? (v6Text(address) ?? address) : address;
}

/** What is known of one request. Addresses are found out when somebody asks. */
export class RequestFacts implements ScopeFacts {
  readonly #connection: { readonly connectedFrom: string | undefined };
  readonly #peers: Peers | undefined;
  readonly #proxyHeaders: ProxyHeaders | undefined;
  readonly #mayShowFaults: boolean;
  /** The address of the connection, once it was read. */
  #address: string | undefined;
  /** The address of the caller, where a proxy may stand in between: 6 us to find out. */
  #caller: string | undefined;
  headers: ScopeFacts['headers'];
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;

  /** @param peers undefined: no proxy is trusted */
  constructor(
    connection: { readonly connectedFrom: string | undefined },
    peers: Peers | undefined,
    head: RequestHead,
  ) {
    this.#connection = connection;
    this.#peers = peers;
    this.#proxyHeaders = peers === undefined ? undefined : head.proxyHeaders;
    this.#mayShowFaults = head.mayShowFaults;
  }

  /** Takes what the calls of the request may see of its head. */
  take({ forwarded, timeoutMs, traceparent, tracestate }: RequestHead): void {
    this.headers = forwarded;
    this.timeoutMs = timeoutMs;
    this.traceparent = traceparent;
    this.tracestate = tracestate;
  }

  get remoteAddress(): string | undefined {
    const peers = this.#peers;
    if (peers === undefined || this.#proxyHeaders === undefined) return this.#connectedFrom;
    this.#caller ??= peers.addressOf(this.#connectedFrom, this.#proxyHeaders);
    return this.#caller;
  }

  get showsFaults(): boolean {
    return this.#mayShowFaults && isLoopback(this.#connectedFrom ?? '');
  }

  get callerHeader(): string | undefined {
    return this.#proxyHeaders?.caller === undefined
      ? undefined
      : this.#peers?.callerHeader(this.#connectedFrom, this.#proxyHeaders);
  }

  get #connectedFrom(): string | undefined {
    this.#address ??= addressText(this.#connection.connectedFrom);
    return this.#address;
  }
}
