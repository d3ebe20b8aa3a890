/**
 * The host, and perhaps the port, of the page that sent a request, in lower case.
 *
 * @param origin the header Origin
 * @returns undefined for an origin that is no page of HTTP: `null`, a file, an extension
 */
export function authorityOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]?.toLowerCase();
}
