import { clockMs } from '../base/clock.ts';
import type { Overload } from '../base/overloads.ts';
import type { Verdict } from './authenticate.ts';
import { overloadedOutcome } from './call.ts';
import type { CallerKeys } from './caller-key.ts';
import type { RequestScope } from './scope.ts';
import { networkCallers, networkOf } from './share.ts';

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

export interface CallerLimiterOptions {
  readonly keys: CallerKeys;
  /** Requests that one caller may have in flight; 0: any number. */
  readonly maxInFlight: number;
  readonly limit: RateLimit;
  /** undefined: rates are not limited. */
  readonly store: RateLimitStore | undefined;
  /** Told of what a store throws. */
  readonly onFault: (error: unknown) => void;
  /** Told of each request that is refused here, and which of the two limits it was. */
  readonly onRefused: (overload: Overload, scope: RequestScope) => void;
}

/**
 * Whether a caller may begin one more request, by what the same caller has in flight and has taken of late. Asked once a request,
 * when it is known who calls and before its body is read: a refused request causes no work.
 */
export class CallerLimiter {
  readonly #options: CallerLimiterOptions;
  /** By the keys of callers of whom something is in flight, and of their networks. */
  readonly #inFlight = new Map<string, number>();

  constructor(options: CallerLimiterOptions) {
    this.#options = options;
  }

  /** Callers of whom something is in flight. */
  get size(): number {
    return this.#inFlight.size;
  }

  /** The verdict of `authenticate` on a request; where it lets the request through, that of this limiter. Never throws, never rejects. */
  verdictOf(scope: RequestScope): Verdict | Promise<Verdict> {
    const { verdict } = scope;
    if (verdict instanceof Promise) return verdict.then((value) => this.#behind(value, scope));
    return verdict === undefined ? this.#ask(scope) : this.#behind(verdict, scope);
  }

  /** A request that was asked for has to wait: when its caller goes, it is no longer in flight. */
  hold(scope: RequestScope): void {
    if (scope.cancelled) this.leave(scope);
    else scope.addListener({ onCancelled: () => this.leave(scope) });
  }

  /** A request that was asked for has its answer: it is no longer in flight. Idempotent. */
  leave(scope: RequestScope): void {
    const wasInside = scope.limiterState === 'inside';
    scope.limiterState = 'left';
    if (!wasInside) return;
    this.#count(this.#options.keys.keyOf(scope), -1);
  }

  /** A batch was read, whose first call was counted already. */
  noteBatch(scope: RequestScope, calls: number): void {
    if (calls > 1) this.#charge(scope, calls - 1, 0);
  }

  /** A call has spent so long in its handler. */
  noteRun(scope: RequestScope, us: number): void {
    if (us > 0 && this.#options.limit.costMs > 0) this.#charge(scope, 0, us);
  }

  #behind(verdict: Verdict, scope: RequestScope): Verdict | Promise<Verdict> {
    // Nobody waits for the request any more: nothing of it runs, and the store must not charge it.
    if (verdict.refusal !== undefined || scope.limiterState === 'left') return verdict;
    scope.authText = verdict.authText;
    return this.#ask(scope);
  }

  #ask(scope: RequestScope): Verdict | Promise<Verdict> {
    const { keys, maxInFlight, store } = this.#options;
    const key = keys.keyOf(scope);
    if (maxInFlight > 0) {
      if (!this.#hasRoom(key, maxInFlight)) {
        this.#options.onRefused('inFlightPerCaller', scope);
        return { refusal: overloadedOutcome('inFlightPerCaller') };
      }
      // Before the store is asked, which may take a while: many at once must not all find room.
      // A request that was answered at its deadline meanwhile is in flight no more.
      if (scope.limiterState !== 'left') {
        scope.limiterState = 'inside';
        this.#count(key, 1);
      }
    }
    if (store === undefined) return { refusal: undefined, authText: scope.authText };
    try {
      const state = store.admit(key);
      return state instanceof Promise
        ? state.then(
            (settled) => this.#read(settled, scope),
            (error: unknown) => this.#goOn(error, scope),
          )
        : this.#read(state, scope);
    } catch (error) {
      return this.#goOn(error, scope);
    }
  }

  #read({ retryAfterMs, left, resetMs }: RateState, scope: RequestScope): Verdict {
    const { calls, burstSeconds } = this.#options.limit;
    if (calls > 0) {
      const quota = calls * burstSeconds;
      scope.rateNotice = { quota, windowSeconds: burstSeconds, left, resetMs };
    }
    if (retryAfterMs <= 0) return { refusal: undefined, authText: scope.authText };
    this.#options.onRefused('rate', scope);
    return { refusal: overloadedOutcome('rate', retryAfterMs) };
  }

  /** A store that fails must not take the service with it. */
  #goOn(error: unknown, scope: RequestScope): Verdict {
    this.#options.onFault(error);
    return { refusal: undefined, authText: scope.authText };
  }

  #charge(scope: RequestScope, calls: number, costUs: number): void {
    const { store, keys, onFault } = this.#options;
    if (store === undefined) return;
    try {
      store.charge(keys.keyOf(scope), calls, costUs)?.catch(onFault);
    } catch (error) {
      onFault(error);
    }
  }

  #hasRoom(key: string, most: number): boolean {
    const network = networkOf(key);
    const held = this.#inFlight;
    if ((held.get(key) ?? 0) >= most) return false;
    return network === undefined || (held.get(network) ?? 0) < most * networkCallers;
  }

  /** For the caller, and for its network. */
  #count(key: string, change: 1 | -1): void {
    for (const one of [key, networkOf(key)]) {
      if (one === undefined) continue;
      const held = (this.#inFlight.get(one) ?? 0) + change;
      if (held > 0) this.#inFlight.set(one, held);
      else this.#inFlight.delete(one);
    }
  }
}
