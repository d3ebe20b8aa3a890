import { BlockList, isIP } from 'node:net';
import type { Config } from '../../../core/config/config.ts';

/** The headers in which proxies name the peers that they serve. A header that was sent several times is joined. */
export interface ProxyHeaders {
  /** The header `Forwarded` of RFC 7239. */
  readonly forwarded: string | undefined;
  readonly forwardedFor: string | undefined;
  /** The header that `fairBy` names. */
  readonly caller?: string | undefined;
}

/** Tells proxies from callers. */
export interface Peers {
  /**
   * The caller's address. It is the address of the connection; or, where that is a trusted proxy's, the rightmost
   * address in the proxy's headers that is no trusted proxy's. Anybody may have written what stands left of that
   * address.
   *
   * @param connection the address of the connection
   */
  addressOf(connection: string | undefined, headers: ProxyHeaders): string | undefined;
  /** The value of the header that `fairBy` names; undefined: not sent, or not sent by a trusted proxy. */
  callerHeader(connection: string | undefined, headers: ProxyHeaders): string | undefined;
}

/** Most trusted proxies in a row. A longer list is a header that somebody wrote to make this server read it. */
const maxProxies = 16;

/** In the list of trusted proxies: whoever connects to the Unix socket. */
const overSocket = 'unix';

/**
 * The header that `fairBy` names, in lower case.
 *
 * @param fairBy `header:<name>`; any other value names no header
 */
export function callerHeaderOf(fairBy: string): string | undefined {
  return fairBy.startsWith('header:') ? fairBy.slice('header:'.length).toLowerCase() : undefined;
}

/**
 * @param options `trustedProxies`: addresses, networks (`10.0.0.0/8`), and `unix`; empty: no header is ever read.
 *   `socket`: not empty where all connections come over a Unix socket, and none has an address. Elsewhere a connection
 *   without an address is one that has gone, which nobody trusts
 */
export function createPeers({
  trustedProxies,
  socket,
}: Pick<Config, 'trustedProxies' | 'socket'>): Peers | undefined {
  if (trustedProxies.length === 0) return undefined;
  const proxies = toBlockList(trustedProxies.filter((entry) => entry !== overSocket));
  const trustsSocket = socket !== '' && trustedProxies.includes(overSocket);
  const isProxy = (address: string): boolean =>
    proxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  const trusts = (connection: string | undefined): boolean =>
    connection === undefined ? trustsSocket : isIP(connection) !== 0 && isProxy(connection);
  return {
    callerHeader: (connection, { caller }) =>
      caller !== undefined && trusts(connection) ? caller : undefined,
    addressOf(connection, { forwarded, forwardedFor }) {
      if (!trusts(connection)) return connection;
      const one = forwarded === undefined ? undefined : callerIn(forwarded, nodeOf, isProxy);
      // Some proxies add a port or quotes.
      const nodeText = (element: string) => unquote(element.trim());
      const other =
        forwardedFor === undefined ? undefined : callerIn(forwardedFor, nodeText, isProxy);
      // A proxy that writes one of the two headers may pass on the other as its client sent it. So both must name the
      // same address.
      if (forwarded !== undefined && forwardedFor !== undefined && one !== other) return connection;
      return one ?? other ?? connection;
    },
  };
}

function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/**
 * The rightmost address of a list that is no proxy's; undefined: there is none, or something that is no address
 * stands right of it.
 */
function callerIn(
  list: string,
  nodeIn: (element: string) => string | undefined,
  isProxy: (address: string) => boolean,
): string | undefined {
  let count = 0;
  for (const element of elementsFromEnd(list, ',')) {
    if (element === undefined || count++ === maxProxies) return undefined;
    const node = nodeIn(element);
    const address = node === undefined ? undefined : addressOfNode(node);
    if (address === undefined || !isProxy(address)) return address;
  }
  return undefined;
}

/**
 * The `for` of an element of Forwarded, which may also hold `by`, `proto`, `host` and others; undefined: no `for`, or
 * two of them.
 */
function nodeOf(element: string): string | undefined {
  let node: string | undefined;
  for (const pair of elementsFromEnd(element, ';')) {
    if (pair === undefined) return undefined;
    const [, name = '', value = ''] = /^\s*([\w-]+)=(.*)$/s.exec(pair) ?? [];
    if (name.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = unquote(value.trimEnd());
  }
  return node;
}

function unquote(text: string): string | undefined {
  if (!text.startsWith('"')) return text;
  return /^"(?:[^"\\]|\\.)*"$/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : undefined;
}

/**
 * The address of a node (RFC 7239, 6) in one spelling; undefined for `unknown`, for a name that hides the address
 * (`_gazonk`), and for any other text. A text longer than the longest address is no address.
 */
function addressOfNode(node: string): string | undefined {
  if (node.length > 64) return undefined;
  const [, inBrackets, v4] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::[\w.-]+)?$/i.exec(node) ?? [];
  const address = inBrackets ?? v4 ?? node;
  switch (isIP(address)) {
    case 4:
      return inBrackets === undefined ? address : undefined;
    case 6:
      return v6Text(address);
    default:
      return undefined;
  }
}

const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/**
 * An IPv6 address compressed as RFC 5952 says; an IPv4 address that is mapped to IPv6 as IPv4. A zone is left out: it
 * means nothing on another machine.
 */
export function v6Text(address: string): string | undefined {
  if (address.includes('%')) return undefined;
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = mapped.exec(text) ?? [];
  if (high === undefined || low === undefined) return text;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

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
