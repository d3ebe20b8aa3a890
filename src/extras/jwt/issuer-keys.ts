import type * as Jose from 'jose';
import { messageOf } from '../../core/base/message-of.ts';

/** Longest time of one fetch of keys, the metadata of the issuer before it included. */
const fetchMs = 5000;

/** Keys of this age are fetched again before they are used: the issuer may have withdrawn one. */
const freshMs = 600_000;

/** So many fetches at once, and one more each ten seconds. */
const most = 5;
const refillMs = 10_000;

/** What a caller may cost the issuer: anybody can make up tokens for which keys are looked for. */
class Budget {
  #left = most;
  #at = Date.now();

  take(): boolean {
    const now = Date.now();
    this.#left = Math.min(most, this.#left + Math.max(0, now - this.#at) / refillMs);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

export interface KeySource {
  readonly issuer: string;
  /** Undefined: the metadata of the issuer names it. */
  readonly jwksUri: string | undefined;
}

/**
 * The public keys of an issuer. jose fetches, parses and keeps them. This class decides when, since jose by itself refuses known keys
 * while the issuer is down, looks for no new key within 30 s of a fetch, and fetches for each unknown key while fetches fail.
 */
export class IssuerKeys {
  /** The key of a token, as jose's `jwtVerify` asks for it. */
  readonly keyOf: Jose.JWTVerifyGetKey;
  readonly #source: KeySource;
  readonly #set: ReturnType<typeof Jose.createRemoteJWKSet>;
  readonly #kept: Jose.JWKSCacheInput = {};
  readonly #budget = new Budget();
  /** Why the last fetch has failed; undefined: it has not. */
  #failure: unknown;

  constructor(jose: typeof Jose, source: KeySource) {
    const { issuer, jwksUri } = source;
    const find: Jose.FetchImplementation = async (_, init) =>
      fetch(await discover(issuer, init.signal), init);
    this.#source = source;
    this.#set = jose.createRemoteJWKSet(new URL(jwksUri ?? issuer), {
      timeoutDuration: fetchMs,
      cooldownDuration: Number.POSITIVE_INFINITY,
      cacheMaxAge: Number.POSITIVE_INFINITY,
      [jose.jwksCache]: this.#kept,
      ...(jwksUri === undefined && { [jose.customFetch]: find }),
    });
    this.keyOf = this.#set;
  }

  /**
   * Has keys at hand: fresh ones, or those that were known before the issuer stopped answering. Only the first call that finds it
   * silent waits for it.
   *
   * @throws Error for a service that has never had keys; its message names what failed
   */
  async load(): Promise<void> {
    const { uat } = this.#kept;
    if (uat !== undefined && Date.now() - uat < freshMs) return;
    const renewal = this.renew();
    if (uat === undefined || this.#failure === undefined) await renewal;
    if (this.#kept.uat !== undefined) return;
    const { issuer, jwksUri } = this.#source;
    const at = jwksUri === undefined ? `the issuer ${issuer}` : jwksUri;
    throw new Error(`jwt: no keys can be fetched from ${at}: ${reasonOf(this.#failure)}`, {
      cause: this.#failure,
    });
  }

  /** Fetches the keys, unless too many fetches were made lately. Never rejects. @returns whether there may be new ones */
  async renew(): Promise<boolean> {
    if (!this.#set.reloading && !this.#budget.take()) return false;
    try {
      await this.#set.reload();
      this.#failure = undefined;
      return true;
    } catch (error) {
      this.#failure = error;
      return false;
    }
  }
}

/** `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}

/**
 * The URL of the keys, which the metadata of the issuer names: that of OAuth (RFC 8414), else that of OpenID Connect, where MCP has
 * clients look for them.
 */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = new Set([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  const failures: string[] = [];
  for (const place of places) {
    const headers = { accept: 'application/json' };
    const response = await fetch(place, { signal, headers, redirect: 'error' });
    if (response.ok) return keysUrl(await response.json(), issuer, place);
    await response.body?.cancel();
    failures.push(`${place} answers ${response.status}`);
  }
  throw new Error(`no metadata: ${failures.join(', ')}; give jwksUri`);
}

/** @throws Error for metadata of somebody else (RFC 8414, 3.3), and for keys that could be changed on their way here */
function keysUrl(metadata: unknown, issuer: string, place: string): string {
  const given: Partial<Record<string, unknown>> =
    typeof metadata === 'object' && metadata !== null ? { ...metadata } : {};
  if (given.issuer !== issuer) {
    const named = String(given.issuer).slice(0, 200);
    throw new Error(`${place} is the metadata of ${named}, not of ${issuer}`);
  }
  const { jwks_uri: url } = given;
  const isUrl = typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url);
  if (!isUrl) throw new Error(`${place} names no jwks_uri; give jwksUri`);
  if (issuer.startsWith('https:') && !url.startsWith('https:')) {
    throw new Error(`${place} names a jwks_uri without https`);
  }
  return url;
}
