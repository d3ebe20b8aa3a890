import { isIP } from 'node:net';
import type { Kind } from './kind.ts';

export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function checkList(value: unknown, shape: RegExp): readonly string[] | undefined {
  const list: unknown = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list)) return undefined;
  const entries = list.filter((entry): entry is string => typeof entry === 'string');
  if (entries.length !== list.length || !entries.every((entry) => shape.test(entry))) {
    return undefined;
  }
  return Object.freeze([...new Set(entries)]);
}

/** Whether a list is this word alone. */
function isWord(value: unknown, word: string): boolean {
  return value === word || (Array.isArray(value) && value.length === 1 && value[0] === word);
}

/** The texts of a list, or one text, in lower case. What is no text stays, and is refused by the check. */
function toLowerCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toLowerCase);
  return typeof value === 'string' ? value.toLowerCase() : value;
}

/** Header names. The configuration holds them in lower case. The word `none` is the empty list. */
export function headerNames(): Kind<readonly string[]> {
  // The grammar of HTTP allows a header named *, but whoever writes that means all headers.
  const token = /^(?!\*$)[!#$%&'*+.^_`|~0-9a-z-]+$/i;
  return {
    placeholder: 'names',
    allowed: 'none, or header names, separated by commas, without *',
    repeatable: true,
    fromText: splitList,
    check: (value) =>
      isWord(value, 'none') ? Object.freeze([]) : checkList(toLowerCase(value), token),
    toText: (value: readonly string[]) => (value.length === 0 ? 'none' : value.join(',')),
  };
}

/** Hosts as in a Host header. The configuration holds them in lower case. The word `none` is the empty list. */
export function hosts(): Kind<readonly string[]> {
  // What URL parsers leave unchanged: a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port.
  const host = /^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,253}[a-z0-9_])?)(?::\d{1,5})?$/;
  return {
    placeholder: 'hosts',
    allowed: 'none, or hosts like example.com, 127.0.0.1:8000, [::1], separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) =>
      isWord(value, 'none') ? Object.freeze([]) : checkList(toLowerCase(value), host),
    toText: (value: readonly string[]) => value.join(',') || 'none',
  };
}

/** Names of procedures, in which a star stands for any characters. The word `all` is the empty list. */
export function procedurePatterns(): Kind<readonly string[]> {
  return {
    placeholder: 'names',
    allowed: 'all, or names of procedures like math.add, math.*, separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) =>
      isWord(value, 'all') ? Object.freeze([]) : checkList(value, /^[A-Za-z_*][\w\-./:*]{0,255}$/),
    toText: (value: readonly string[]) => value.join(',') || 'all',
  };
}

/** Addresses and networks of them, `10.0.0.0/8`, and the word `unix`; the word `none` is the empty list. */
export function addresses(): Kind<readonly string[]> {
  return {
    placeholder: 'addresses',
    allowed:
      'none, or addresses and networks like 127.0.0.1, 10.0.0.0/8, fd00::/8, and unix, separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      if (isWord(value, 'none')) return Object.freeze([]);
      const entries = checkList(value, /^(?:[\da-f:.]+(?:\/\d{1,3})?|unix)$/i);
      return entries?.every(isNetwork) === true ? entries : undefined;
    },
    toText: (value: readonly string[]) => value.join(',') || 'none',
  };
}

function isNetwork(entry: string): boolean {
  if (entry === 'unix') return true;
  const [address = '', prefix = '0'] = entry.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return Number(prefix) <= bits;
}

/** `*`, or a list of origins as browsers send them. The word `none` is the empty list. */
export function origins(): Kind<'*' | readonly string[]> {
  // No path and no trailing slash: an entry must equal the Origin header exactly.
  const origin = /^[a-z][a-z0-9+.-]*:\/\/[\x21-\x2b\x2d\x2e\x30-\x3e\x40-\x5b\x5d-\x7e]+$/;
  return {
    placeholder: 'origins',
    allowed: '*, none, or origins like https://app.example.com (lower case, no path, no final /)',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      if (isWord(value, '*')) return '*';
      return isWord(value, 'none') ? Object.freeze([]) : checkList(value, origin);
    },
    toText: (value: '*' | readonly string[]) => (value === '*' ? value : value.join(',') || 'none'),
  };
}
