/**
 * Whether a Host header names a host that is served; undefined: any is. An entry without a port goes with
 * every port, one with a port with that one only.
 *
 * @param allowed entries like `example.com`, `example.com:8000`, `127.0.0.1`, `[::1]`, in lower case
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

/** RFC 9112, 3.2 and RFC 3986, 3.2.2: a name, which may be empty, or an address, then perhaps a port. */
const grammar = /^(?:\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** Whether a Host header is one at all. */
export function isHost(host: string): boolean {
  return grammar.test(host);
}

function withoutPort(host: string): string {
  // Only what can be a port: of `::1`, which must stand in brackets, nothing is taken off.
  return /^(?:\[[^\]]*\]|[^:]*):\d{1,5}$/.test(host) ? host.slice(0, host.lastIndexOf(':')) : host;
}
