import { clockMs } from '../../base/clock.ts';
import type { RateLimit, RateLimitStore, RateState } from './rate-limit.ts';

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
 */
export class TokenBuckets implements RateLimitStore {
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
    { calls, costMs, burstSeconds }: RateLimit,
    now: () => number = clockMs,
    perGeneration: number = keysPerGeneration,
  ) {
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
