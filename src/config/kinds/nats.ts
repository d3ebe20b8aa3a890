import type { Kind } from './kind.ts';
import { splitList } from './lists.ts';

/** The credentials of a server's URL, which no message may show. */
const secret = /\/\/[^@/]*@/;

const listed = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : [value === '' ? [] : value].flat();

function isServer(entry: unknown): entry is string {
  if (typeof entry !== 'string' || !/^(?:(?:nats|tls):\/\/)?[^\s/?#,]+\/?$/.test(entry))
    return false;
  const url = entry.includes('://') ? entry : `nats://${entry}`;
  return URL.canParse(url) && new URL(url).hostname !== '';
}

/** Servers of NATS: `nats://host:4222`, `tls://user:password@host`, `host:4222`. The word `none` is the empty list. */
export function natsServers(): Kind<readonly string[]> {
  const allowed =
    'none, or servers like nats://host:4222, nats://user:password@host, tls://host, separated by commas';
  return {
    placeholder: 'url',
    allowed,
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list = listed(value);
      if (list.length === 1 && list[0] === 'none') return Object.freeze([]);
      const servers = list.filter(isServer);
      return servers.length === list.length ? Object.freeze([...new Set(servers)]) : undefined;
    },
    // The whole list is not shown: other entries may hold passwords.
    faultOf: (value) => {
      const list = listed(value);
      const at = list.findIndex((entry) => !isServer(entry));
      const given = list[at];
      return {
        where: list.length > 1 ? `entry ${at + 1}` : 'the server',
        allowed,
        given: typeof given === 'string' ? given.replace(secret, '//***@') : given,
      };
    },
    toText: (value: readonly string[]) => value.join(',') || 'none',
  };
}

/** Names of services: the first token of their subjects. */
export function serviceNames(): Kind<readonly string[]> {
  return {
    placeholder: 'name',
    allowed: 'names of letters, digits, - and _, separated by commas',
    repeatable: true,
    fromText: splitList,
    check: (value) => {
      const list = listed(value);
      const names = list.filter(
        (entry): entry is string => typeof entry === 'string' && /^[\w-]{1,64}$/.test(entry),
      );
      const isWhole = names.length > 0 && names.length === list.length;
      return isWhole ? Object.freeze([...new Set(names)]) : undefined;
    },
    toText: (value: readonly string[]) => value.join(','),
  };
}
