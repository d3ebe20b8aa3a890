const quote = 0x22;
const backslash = 0x5c;

/**
 * The elements of a list, from the last one. Separators within quotes do not separate (RFC 9110, 5.6.1 and 5.6.4). Read
 * from the end, since what a proxy has added there must not depend on what its client wrote before it, such as an open
 * quote: that ends the list by undefined.
 *
 * @param separator one character
 */
export function* elementsFromEnd(list: string, separator: string): Generator<string | undefined> {
  const separates = separator.charCodeAt(0);
  let end = list.length;
  let isQuoted = false;
  for (let i = end - 1; i >= 0; i--) {
    const unit = list.charCodeAt(i);
    if (unit === quote && !isEscaped(list, i)) isQuoted = !isQuoted;
    else if (unit === separates && !isQuoted) {
      yield list.slice(i + 1, end);
      end = i;
    }
  }
  yield isQuoted ? undefined : list.slice(0, end);
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === backslash) before--;
  return (at - before) % 2 === 1;
}

/** The media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** The weight 0: a type with it is not accepted (RFC 9110, 12.4.2). */
const noWeight = /^0(?:\.0{0,3})?$/;

/**
 * Whether an Accept names server-sent events. A range that would match anything does not name them: most clients send
 * such a range without thinking of streams.
 */
export function acceptsEventStream(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || !/event-stream/i.test(accept)) return false;
  for (const range of elementsFromEnd(accept, ',')) {
    if (range === undefined) return false;
    if (names(range.toLowerCase())) return true;
  }
  return false;
}

/** @param range a media range with its parameters, in lower case */
function names(range: string): boolean {
  let type: string | undefined;
  let weight: string | undefined;
  for (const part of elementsFromEnd(range, ';')) {
    // What stands before the weight are the type's own parameters, of which it has one: its charset, always UTF-8.
    type = part?.trim();
    if (type?.startsWith('q=')) weight = type.slice('q='.length).trim();
  }
  return type === eventStreamType && !noWeight.test(weight ?? '1');
}

/** Whether a client has the representation of this ETag: a weak comparison with its list (RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

/**
 * Makes the check whether a Host header names a served host. An entry without a port allows every port; an entry with
 * a port allows only that port.
 *
 * @param allowed entries like `example.com`, `example.com:8000`, `127.0.0.1`, `[::1]`, in lower case
 * @returns undefined where every host is allowed
 */
export function createHostCheck(
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

/** A name, which may be empty, or an address; then perhaps a port (RFC 9112, 3.2 and RFC 3986, 3.2.2). */
const grammar = /^(?:\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** Whether a Host header follows the grammar. */
export function isHost(host: string): boolean {
  return grammar.test(host);
}

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
