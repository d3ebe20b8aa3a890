/** The CORS lines of one origin's replies, made once. */
export interface CorsLines {
  /** Flat: name, value, name, value. Never empty. */
  readonly lines: readonly string[];
  /**
   * The headers of a JSON reply for uWebSockets.js: the first one's name, and its value with the other
   * headers' lines behind it, since each header written costs a crossing into C++. As bytes, which are
   * taken as they are, where text is measured and copied.
   */
  readonly jsonName: ArrayBuffer;
  readonly jsonValue: ArrayBuffer;
}

export type Cors = (origin: string | undefined) => CorsLines;

function toLines(lines: readonly string[]): CorsLines {
  let jsonValue = 'application/json';
  for (let i = 0; i < lines.length; i += 2) jsonValue += `\r\n${lines[i]}: ${lines[i + 1]}`;
  return { lines, jsonName: bytesOf('content-type'), jsonValue: bytesOf(jsonValue) };
}

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer;
}

/**
 * Which lines an origin gets. With a list, a matching origin gets the entry from the list, never the
 * header as it was sent, a foreign one gets none, and caches are told that it varies.
 */
export function createCors(corsOrigin: '*' | readonly string[]): Cors {
  if (corsOrigin === '*') {
    const any = toLines(['access-control-allow-origin', '*']);
    return () => any;
  }
  const vary = ['vary', 'origin'];
  const foreign = toLines(vary);
  const known = new Map(
    corsOrigin.map((entry) => [entry, toLines(['access-control-allow-origin', entry, ...vary])]),
  );
  return (origin) => (origin === undefined ? foreign : (known.get(origin) ?? foreign));
}

/** The headers of a preflight reply beside the origin's own. */
export const preflightHeaders: readonly string[] = [
  'access-control-allow-methods',
  'POST, GET, OPTIONS',
  'access-control-allow-headers',
  'content-type, authorization, traceparent, rpc-timeout-ms',
  'access-control-max-age',
  '86400',
];
