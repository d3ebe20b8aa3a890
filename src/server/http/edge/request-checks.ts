import { badTimeoutReason } from '../../../core/dispatch/scope.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import { errorReply } from '../../../core/protocol/reply.ts';
import { type Answer, jsonAnswer, rejection } from './answer.ts';
import type { HttpOptions } from './http-options.ts';
import type { RequestHead } from './request-head.ts';

const jsonTypes = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest']);

/**
 * Removes the blanks and tabs around a text. `trim` removes more than HTTP allows, and a pattern would take quadratic
 * time.
 */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09;
}

/**
 * Whether the type is one of the three that are accepted. Any parameters are allowed, but a charset must be UTF-8.
 */
export function isJsonContentType(value: string | undefined): boolean {
  if (value === 'application/json') return true;
  if (value === undefined) return false;
  const [type = '', ...parameters] = value.toLowerCase().split(';');
  if (!jsonTypes.has(trimmed(type))) return false;
  for (const parameter of parameters) {
    const [name = '', ...rest] = parameter.split('=');
    if (trimmed(name) !== 'charset') continue;
    const charset = trimmed(rest.join('='));
    if (charset !== 'utf-8' && charset !== '"utf-8"') return false;
  }
  return true;
}

function isPlainEncoding(value: string | undefined): boolean {
  return value === undefined || value === '' || value.toLowerCase() === 'identity';
}

/**
 * Makes the check whether a Host header names a served host. An entry without a port allows every port; an entry with
 * a port allows only that port.
 *
 * @param allowed entries like `example.com`, `example.com:8000`, `127.0.0.1`, `[::1]`, in lower case
 * @returns undefined if every host is allowed
 */
function createHostCheck(
  allowed: readonly string[],
): ((host: string | undefined) => boolean) | undefined {
  if (allowed.length === 0) return undefined;
  const known = new Set(allowed);
  return (host) => {
    if (host === undefined) return false;
    if (known.has(host)) return true;
    const name = host.toLowerCase();
    return known.has(name) || known.has(withoutPort(name));
  };
}

/**
 * A name or an address; then perhaps a port (RFC 9112, 3.2 and RFC 3986, 3.2.2). Without a comma, which a name may have: it stands
 * between several hosts.
 */
const hostGrammar = /^(?:\[[\w:.%~-]+\]|[\w.~!$&'()*+;=%-]+)(?::\d*)?$/;

function withoutPort(host: string): string {
  // Only what can be a port is taken off: `::1`, which must stand in brackets, is left whole.
  return /^(?:\[[^\]]*\]|[^:]*):\d{1,5}$/.test(host) ? host.slice(0, host.lastIndexOf(':')) : host;
}

/**
 * The host, and perhaps the port, of the page that sent a request, in lower case.
 *
 * @param origin the header Origin
 * @returns undefined for an origin that is no page of HTTP: `null`, a file, an extension
 */
export function authorityOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]?.toLowerCase();
}

/** Whether a page of another host sent the request. Only browsers send an Origin, and no page can forge it. */
export function isForeign({ origin, host }: RequestHead): boolean {
  if (origin === undefined) return false;
  const authority = authorityOf(origin);
  return authority === undefined || authority !== host?.toLowerCase();
}

/**
 * A refused body up to this many times the limit is read and thrown away, so that the client sees the reply: closing
 * the connection while the client still writes would reset it. A longer body is cut.
 */
const discardFactor = 8;

// These refusals close the connection: one server may see the end of such a request where another sees its middle.
const chunksOfNoCall = rejection(411, 'only calls may come in chunks: send content-length', {
  close: true,
});
const ambiguousTransfer = rejection(
  400,
  'transfer-encoding must be sent once, as chunked alone, of HTTP/1.1, and without content-length',
  { close: true },
);
const unknownTransfer = rejection(501, 'transfer-encoding must be chunked', { close: true });
const badLength = rejection(400, 'content-length must be sent once and hold digits only', {
  close: true,
});
// The length may stand behind a line at which the parser ended the headers. A body would then follow, and be read
// as a request.
const lengthRequired = rejection(411, 'content-length is required', { close: true });
// RFC 9112, 3.2: a proxy in front may have gone by the other Host.
const repeatedHost = rejection(400, 'host must be sent once');
const badHost = rejection(400, 'host must be a name or an address, with a port if any');
const foreignHost = rejection(403, 'the Host header names a host that is not served here');
const unsupportedType = rejection(
  415,
  'content-type must be application/json, with charset utf-8 if any',
);
const unsupportedEncoding = rejection(415, 'content-encoding must be identity');
const badTimeout = rejection(400, badTimeoutReason);

/** Of all names and values, and 4 bytes for each. Node's own limit. */
export const maxHeaderBytes: number = 16 * 1024;

/** uWebSockets.js holds 98, and answers nothing above. */
const maxHeaders = 96;

const headersTooLarge = rejection(
  431,
  `headers must be at most ${maxHeaderBytes} bytes and ${maxHeaders} in number`,
);

/** The checks of a request below JSON-RPC, on plain data. Each returns the refusal, or undefined. */
export class Checks {
  readonly #maxBodyBytes: number;
  readonly #isServed: ((host: string | undefined) => boolean) | undefined;
  readonly #onForeign: HttpOptions['onForeign'];
  readonly #large: Answer;
  readonly #farTooLarge: Answer;
  /** The last Host that was found good: most clients send the same one. */
  #knownHost: string | undefined;

  constructor(options: HttpOptions) {
    const { maxBodyBytes, allowedHosts, onForeign } = options;
    this.#onForeign = onForeign;
    this.#maxBodyBytes = maxBodyBytes;
    this.#isServed = createHostCheck(allowedHosts);
    const large = errorReply('null', ErrorCode.LimitExceeded, { limit: maxBodyBytes });
    this.#large = jsonAnswer(413, large);
    this.#farTooLarge = { ...this.#large, close: true };
  }

  /**
   * For every request: where it ends, and which host it is for, must be certain.
   *
   * @param hasBody whether its body is read, which alone may come in chunks
   */
  framing(head: RequestHead, hasBody: boolean): Answer | undefined {
    const { transferEncoding } = head;
    if (transferEncoding !== undefined) {
      // RFC 9112, 6.1 and 6.3.
      const isCertain = head.contentLength === -1 && !head.isOld && !transferEncoding.includes(',');
      if (!isCertain) return ambiguousTransfer;
      if (!head.isChunked) return unknownTransfer;
      if (!hasBody) return chunksOfNoCall;
    }
    if (Number.isNaN(head.contentLength)) return badLength;
    if (head.hosts > 1) return repeatedHost;
    const isTooLarge = head.bytes > maxHeaderBytes || head.count > maxHeaders;
    return isTooLarge ? headersTooLarge : undefined;
  }

  /** For every request except those for health and metrics. */
  host({ host }: RequestHead): Answer | undefined {
    if (this.#isServed !== undefined) {
      if (this.#isServed(host)) return undefined;
      this.#onForeign('host', host);
      return foreignHost;
    }
    // A request of HTTP/1.0 needs no Host.
    if (host === undefined || host === this.#knownHost) return undefined;
    if (!hostGrammar.test(host)) return badHost;
    this.#knownHost = host;
    return undefined;
  }

  /** For a request whose body is read. */
  length(head: RequestHead): Answer | undefined {
    if (head.isChunked) return undefined;
    return head.contentLength === -1 ? lengthRequired : this.bodyLength(head.contentLength);
  }

  type({ contentType }: RequestHead): Answer | undefined {
    return isJsonContentType(contentType) ? undefined : unsupportedType;
  }

  /** What the headers say of a body of any type. */
  content(head: RequestHead): Answer | undefined {
    if (!isPlainEncoding(head.contentEncoding)) return unsupportedEncoding;
    return this.timeout(head);
  }

  timeout({ timeoutMs }: RequestHead): Answer | undefined {
    return timeoutMs !== undefined && Number.isNaN(timeoutMs) ? badTimeout : undefined;
  }

  /** For a body whose length is known only while it is read. */
  bodyLength(bytes: number): Answer | undefined {
    if (bytes <= this.#maxBodyBytes) return undefined;
    return bytes > this.#maxBodyBytes * discardFactor ? this.#farTooLarge : this.#large;
  }
}
