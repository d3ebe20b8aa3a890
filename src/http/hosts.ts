/**
 * Whether a Host header names a host that is served; undefined: any is. An entry without a port goes with
 * every port, one with a port with that one only. A header that was sent twice is no host.
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

function withoutPort(host: string): string {
  // Only what can be a port: of `::1`, which must stand in brackets, nothing is taken off.
  return /^(?:\[[^\]]*\]|[^:]*):\d{1,5}$/.test(host) ? host.slice(0, host.lastIndexOf(':')) : host;
}
