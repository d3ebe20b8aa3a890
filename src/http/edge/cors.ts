/** The CORS headers of replies to one origin, made once. */
export interface CorsLines {
  /** Flat: name, value, name, value. Never empty. */
  readonly lines: readonly string[];
  /**
   * The headers of a JSON reply for uWebSockets.js, as one header: the name of the first, and its value followed by
   * the lines of the others. Each header written costs a crossing into C++. They are bytes because uWebSockets.js
   * measures and copies text, but takes bytes as they are.
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
 * Makes the lookup of an origin's headers. With a list of origins, a matching origin gets the entry from the list,
 * never the header that it sent; any other origin gets none; and caches are told that replies vary by origin.
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

/** The headers of a preflight reply, beside those of the origin. */
export const preflightHeaders: readonly string[] = [
  'access-control-allow-methods',
  'POST, GET, OPTIONS',
  'access-control-allow-headers',
  'content-type, authorization, traceparent, rpc-timeout-ms',
  'access-control-max-age',
  '86400',
];
