import { isLocalName } from '../../../core/base/loopback.ts';
import { authorityOf } from './request-checks.ts';

/** Where a request comes from. */
export interface RequestOrigin {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
}

/** Which pages may send what a browser asks nobody about, and what carries the rights of the person before it. */
export class TrustedOrigins {
  readonly #hasHosts: boolean;
  readonly #listed: ReadonlySet<string>;

  constructor({
    allowedHosts,
    corsOrigin,
  }: {
    readonly allowedHosts: readonly string[];
    readonly corsOrigin: '*' | readonly string[];
  }) {
    this.#hasHosts = allowedHosts.length > 0;
    // `*` lets pages call that a browser has asked about: such a call carries no cookies.
    this.#listed = new Set(corsOrigin === '*' ? [] : corsOrigin);
  }

  /** No page; a page of a listed origin; one of this server itself; on a local server one of this machine. */
  has({ host, origin, isLocal }: RequestOrigin): boolean {
    if (origin === undefined || this.#listed.has(origin)) return true;
    const authority = authorityOf(origin);
    if (authority === undefined) return false;
    if (isLocal && isLocalName(authority)) return true;
    // A Host that nobody has verified may be the page's own name.
    return this.#hasHosts && authority === host?.toLowerCase();
  }
}
