import type { HttpOptions } from './http-options.ts';

/** The CORS headers of replies to one origin, made once. */
export interface CorsLines {
  /** Flat: name, value, name, value. Empty where no page of another origin may read the reply. */
  readonly lines: readonly string[];
  /**
   * The headers of a JSON reply for uWebSockets.js, as one header: the name of the first, and its value followed by
   * the lines of the others. Each header written costs a crossing into C++. They are bytes because uWebSockets.js
   * measures and copies text, but takes bytes as they are.
   */
  readonly jsonName: ArrayBuffer;
  readonly jsonValue: ArrayBuffer;
}

/** For what only pages of this server's own origin may read. */
export const noCors: CorsLines = toLines([]);

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
export function createCors({
  corsOrigin,
  corsCredentials,
}: Pick<HttpOptions, 'corsOrigin' | 'corsCredentials'>): Cors {
  if (corsOrigin === '*') {
    const any = toLines(['access-control-allow-origin', '*']);
    return () => any;
  }
  const vary = ['vary', 'origin'];
  const foreign = toLines(vary);
  const others = corsCredentials ? ['access-control-allow-credentials', 'true', ...vary] : vary;
  const known = new Map(
    corsOrigin.map((entry) => [entry, toLines(['access-control-allow-origin', entry, ...others])]),
  );
  return (origin) => (origin === undefined ? foreign : (known.get(origin) ?? foreign));
}

/** The request headers that every page may send, since this service reads them. */
const ownHeaders = ['content-type', 'authorization', 'traceparent', 'rpc-timeout-ms'];

/**
 * The headers of a preflight reply, beside those of the origin.
 *
 * @param corsHeaders names of further request headers, in lower case
 */
export function preflightHeaders(corsHeaders: readonly string[]): readonly string[] {
  return [
    'access-control-allow-methods',
    'POST, GET, OPTIONS',
    'access-control-allow-headers',
    [...new Set([...ownHeaders, ...corsHeaders])].join(', '),
    'access-control-max-age',
    '86400',
  ];
}
