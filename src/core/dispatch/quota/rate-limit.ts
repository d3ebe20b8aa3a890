import { clockMs } from '../../base/clock.ts';
import { networkCallers, networkOf } from '../share.ts';

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

/** The account of one key: what is left as of `at`. Below nothing where it is overdrawn. */
interface Bucket {
  at: number;
  calls: number;
  costUs: number;
}

/** Of each of the two generations: keys of 100 characters and their accounts take 36 MB in all. */
const keysPerGeneration = 50_000;

/**
 * The accounts of callers in the memory of this process: token buckets, which fill up steadily and hold no more than the burst.
 *
 * Not by rate-limiter-flexible, which is made for shared stores: its memory counts in fixed windows (twice the limit passes where two
 * meet), goes by the wall clock, keeps a timer for each key and as many keys as are asked for, and answers by promise (0.5 us).
 *
 * The memory is bounded: keys live in two generations, and when the young one is full the old one is forgotten, which are the keys that
 * were not used while as many others came. Whoever is forgotten begins with a full account.
 *
 * All networks of one /48 of IPv6 together may take what `networkCallers` callers may.
 */
export class TokenBuckets implements RateLimitStore {
  readonly #limit: RateLimit;
  /** The accounts of networks, each with the limit of several callers. */
  #networks: TokenBuckets | undefined;
  /** What one millisecond adds to an account. */
  readonly #calls: number;
  readonly #costUs: number;
  readonly #mostCalls: number;
  readonly #mostCostUs: number;
  readonly #now: () => number;
  readonly #perGeneration: number;
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();

  /**
   * @param now milliseconds of a clock that nobody sets
   * @param perGeneration half of the keys that are kept
   */
  constructor(
    limit: RateLimit,
    now: () => number = clockMs,
    perGeneration: number = keysPerGeneration,
  ) {
    this.#limit = limit;
    const { calls, costMs, burstSeconds } = limit;
    this.#calls = calls === 0 ? Number.POSITIVE_INFINITY : calls / 1000;
    this.#costUs = costMs === 0 ? Number.POSITIVE_INFINITY : costMs;
    this.#mostCalls = calls === 0 ? Number.POSITIVE_INFINITY : calls * burstSeconds;
    this.#mostCostUs = costMs === 0 ? Number.POSITIVE_INFINITY : costMs * 1000 * burstSeconds;
    this.#now = now;
    this.#perGeneration = perGeneration;
  }

  /** Keys that are kept. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  admit(key: string): RateState {
    const own = this.#admit(key);
    const network = networkOf(key);
    if (network === undefined || own.retryAfterMs > 0) return own;
    const ofAll = this.#ofNetworks().admit(network);
    if (ofAll.retryAfterMs === 0) return own;
    this.#bucketOf(key).calls++;
    return { ...own, retryAfterMs: ofAll.retryAfterMs };
  }

  #admit(key: string): RateState {
    const bucket = this.#bucketOf(key);
    const waitMs = Math.max(
      bucket.calls >= 1 ? 0 : (1 - bucket.calls) / this.#calls,
      bucket.costUs > 0 ? 0 : (1 - bucket.costUs) / this.#costUs,
    );
    if (waitMs === 0) bucket.calls--;
    const { calls } = bucket;
    return {
      retryAfterMs: Math.ceil(waitMs),
      left: Math.max(0, Math.floor(calls)),
      resetMs: calls === this.#mostCalls ? 0 : (this.#mostCalls - calls) / this.#calls,
    };
  }

  charge(key: string, calls: number, costUs: number): void {
    const bucket = this.#bucketOf(key);
    bucket.calls -= calls;
    bucket.costUs -= costUs;
    const network = networkOf(key);
    if (network !== undefined) this.#ofNetworks().charge(network, calls, costUs);
  }

  #ofNetworks(): TokenBuckets {
    const { calls, costMs, burstSeconds } = this.#limit;
    const limit = { calls: calls * networkCallers, costMs: costMs * networkCallers, burstSeconds };
    this.#networks ??= new TokenBuckets(limit, this.#now, this.#perGeneration);
    return this.#networks;
  }

  /** The account, filled up to now. */
  #bucketOf(key: string): Bucket {
    const now = this.#now();
    const young = this.#young.get(key);
    const bucket = young ?? this.#old.get(key);
    if (bucket === undefined) {
      return this.#keep(key, { at: now, calls: this.#mostCalls, costUs: this.#mostCostUs });
    }
    const ms = now - bucket.at;
    if (ms > 0) {
      bucket.at = now;
      bucket.calls = Math.min(this.#mostCalls, bucket.calls + ms * this.#calls);
      bucket.costUs = Math.min(this.#mostCostUs, bucket.costUs + ms * this.#costUs);
    }
    return young === undefined ? this.#keep(key, bucket) : bucket;
  }

  #keep(key: string, bucket: Bucket): Bucket {
    if (this.#young.size >= this.#perGeneration) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#old.delete(key);
    this.#young.set(key, bucket);
    return bucket;
  }
}
