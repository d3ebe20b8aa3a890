import { createHash } from 'node:crypto';
import type { RequestScope } from './scope.ts';

/** What tells callers from each other. */
export interface Caller {
  /** What `authenticate` returned. */
  readonly auth: unknown;
  readonly remoteAddress: string | undefined;
  /** The headers named in `forwardHeaders`: anybody may write what they like into them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A function of the operator's instead of `fairBy`'s text; undefined: the caller's address. */
export type CallerKeyOf = (caller: Caller) => string | undefined;

/** A function of the operator's: the share of the workers that a caller gets while others wait too. The usual share is 1. */
export type CallerWeightOf = (caller: Caller) => number;

/** A longer key is replaced by its hash: what a caller sends must not decide how much is kept. */
const maxKeyLength = 128;

/**
 * The caller of a request as one text, for whatever is shared out among callers. The first letter says what the rest is, so that
 * no address is taken for a subject. Computed when it is first asked for, once a request.
 */
export class CallerKeys {
  readonly #keyOf: (scope: RequestScope, onFault: OnFault) => string | undefined;
  readonly #onFault: OnFault;

  /**
   * @param fairBy `auto` (`auth.sub`, or `auth` itself if it is a text or a number, else the address), `address`,
   *   `auth.<member>`, `header:<name>`, or a function
   * @param onFault told of what a function throws; its callers go by their addresses
   */
  constructor(fairBy: string | CallerKeyOf, onFault: OnFault) {
    this.#keyOf = toKeyOf(fairBy);
    this.#onFault = onFault;
  }

  keyOf(scope: RequestScope): string {
    scope.callerKey ??= this.#shortKeyOf(scope, this.#onFault);
    return scope.callerKey;
  }

  /**
   * The same of a request whose caller may not have signed in yet, by what is known so far. It is not kept, since the key may
   * be another one afterwards; and a function that expects `auth` may throw, which is no fault then.
   */
  earlyKeyOf(scope: RequestScope): string {
    if (scope.callerKey !== undefined || scope.authText !== undefined) return this.keyOf(scope);
    return this.#shortKeyOf(scope, () => {});
  }

  #shortKeyOf(scope: RequestScope, onFault: OnFault): string {
    const key = this.#keyOf(scope, onFault) ?? addressKey(scope.remoteAddress);
    return key.length <= maxKeyLength
      ? key
      : `#${createHash('sha256').update(key).digest('base64url')}`;
  }
}

type OnFault = (error: unknown) => void;

function toKeyOf(
  fairBy: string | CallerKeyOf,
): (scope: RequestScope, onFault: OnFault) => string | undefined {
  if (typeof fairBy === 'function') return (scope, onFault) => keyBy(fairBy, scope, onFault);
  if (fairBy === 'address') return () => undefined;
  if (fairBy.startsWith('header:')) {
    // It is there only if a trusted proxy sent it.
    return ({ callerHeader }) => (callerHeader === undefined ? undefined : `h${callerHeader}`);
  }
  if (fairBy === 'auto') return ({ authText }) => subjectKey(authText);
  const member = fairBy.slice('auth.'.length);
  return ({ authText }) =>
    authText === undefined ? undefined : memberOf(JSON.parse(authText), member);
}

function keyBy(of: CallerKeyOf, scope: RequestScope, onFault: OnFault): string | undefined {
  try {
    const key: unknown = of(callerOf(scope));
    if (key === undefined) return undefined;
    if (typeof key === 'string') return `f${key}`;
    throw new TypeError(`fairBy must return a string or undefined, not ${typeof key}`);
  } catch (error) {
    onFault(error);
    return undefined;
  }
}

/** The weight that a function gives a caller; 1 where the function fails. */
export function weightBy(of: CallerWeightOf, scope: RequestScope, onFault: OnFault): number {
  try {
    const weight: unknown = of(callerOf(scope));
    if (typeof weight === 'number' && weight > 0) return weight;
    throw new TypeError(`weightOf must return a number above 0, not ${String(weight)}`);
  } catch (error) {
    onFault(error);
    return 1;
  }
}

function callerOf({ authText, remoteAddress, headers }: RequestScope): Caller {
  const auth: unknown = authText === undefined ? undefined : JSON.parse(authText);
  return { auth, remoteAddress, headers };
}

function subjectKey(authText: string | undefined): string | undefined {
  if (authText === undefined) return undefined;
  const auth: unknown = JSON.parse(authText);
  return plainKey(auth) ?? memberOf(auth, 'sub');
}

function memberOf(auth: unknown, member: string): string | undefined {
  if (typeof auth !== 'object' || auth === null || !Object.hasOwn(auth, member)) return undefined;
  return plainKey((auth as Readonly<Record<string, unknown>>)[member]);
}

/** The number 7 and the text 7 are two subjects. */
function plainKey(value: unknown): string | undefined {
  if (typeof value === 'string') return `s${value}`;
  return typeof value === 'number' ? `n${value}` : undefined;
}

/** Of IPv6 the network of 64 bits that one subscriber is given: within it an address is as good as free. */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'a';
  return address.includes(':') ? `a${networkOf(address)}` : `a${address}`;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const behind = tail === '' ? [] : tail.split(':');
    const left = Math.max(0, 8 - groups.length - behind.length);
    groups.push(...Array<string>(left).fill('0'), ...behind);
  }
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':');
}
