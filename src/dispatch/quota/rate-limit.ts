/** What one caller may take: the option `rateLimit`. */
export interface RateLimit {
  /** Calls a second; 0: not counted. */
  readonly calls: number;
  /** Milliseconds a second that calls may spend in their handlers, waiting there included; 0: not counted. */
  readonly costMs: number;
  /** How many seconds' worth may be taken at once. */
  readonly burstSeconds: number;
}

/** Where a caller stands. */
export interface RateState {
  /** How long to wait until something is left, milliseconds; 0: something is. */
  readonly retryAfterMs: number;
  /** Calls that are left, a whole number, at least 0. */
  readonly left: number;
  /** How long until all of the calls are there again, milliseconds. */
  readonly resetMs: number;
}

/**
 * Where the accounts of callers are kept: in memory, or in a place that several processes or machines share. A store that throws or
 * rejects is as good as none: the request goes on, and the log says so.
 */
export interface RateLimitStore {
  /** A request has come: counts one call of it where something is left, and nothing else. */
  admit(key: string): RateState | Promise<RateState>;
  /**
   * Counts what a request took beyond its first call. It may overdraw an account: what a call costs is known when it has ended.
   *
   * @param calls further calls of a batch
   * @param costUs microseconds in handlers
   */
  charge(key: string, calls: number, costUs: number): void | Promise<void>;
}

/** What a reply says of the limit (draft-ietf-httpapi-ratelimit-headers). */
export interface RateNotice {
  /** Calls that may be taken at once, in so many seconds again. */
  readonly quota: number;
  readonly windowSeconds: number;
  readonly left: number;
  readonly resetMs: number;
}

export function isLimited({ calls, costMs }: RateLimit): boolean {
  return calls > 0 || costMs > 0;
}
