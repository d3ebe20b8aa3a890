/** As uWebSockets.js writes the address of a peer. */
const longLoopback = '0000:0000:0000:0000:0000:0000:0000:0001';

/** Whether only this machine can reach a server that listens on `host`, or is the peer that has this address. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host === '::1' ||
    host === longLoopback ||
    /^127(\.\d{1,3}){3}$/.test(host)
  );
}

const localName = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Whether a Host header names this machine by a name that nobody else can have: a page can give a name of its own the
 * address 127.0.0.1, but not these names.
 */
export function isLocalName(host: string | undefined): boolean {
  return host !== undefined && localName.test(host);
}
