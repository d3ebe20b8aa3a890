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
