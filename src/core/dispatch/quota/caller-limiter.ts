import type { Overload } from '../../base/overloads.ts';
import type { Verdict } from '../authenticate.ts';
import type { CallerKeys } from '../caller-key.ts';
import { overloadedOutcome } from '../limit.ts';
import type { RequestScope } from '../scope.ts';
import { networkCallers, networkOf } from '../share.ts';
import type { RateLimit, RateLimitStore, RateState } from './rate-limit.ts';

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

  /** The reply of a request that was asked for: with it, or when the caller goes, the request is no longer in flight. */
  hold<R>(scope: RequestScope, reply: R | Promise<R>): R | Promise<R> {
    if (!(reply instanceof Promise) || scope.cancelled) {
      this.#leave(scope);
      return reply;
    }
    scope.addListener({ onCancelled: () => this.#leave(scope) });
    return reply.then((settled) => {
      this.#leave(scope);
      return settled;
    });
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
    if (verdict.refusal !== undefined) return verdict;
    scope.admit(verdict.authText);
    return this.#ask(scope);
  }

  #ask(scope: RequestScope): Verdict | Promise<Verdict> {
    const { keys, maxInFlight, store } = this.#options;
    const key = keys.keyOf(scope);
    if (maxInFlight > 0 && !this.#hasRoom(key, maxInFlight)) {
      this.#options.onRefused('inFlightPerCaller', scope);
      return { refusal: overloadedOutcome('inFlightPerCaller') };
    }
    // Before the store is asked, which may take a while: many at once must not all find room.
    this.#enter(scope, key);
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

  #enter(scope: RequestScope, key: string): void {
    // A request that was answered at its deadline meanwhile is in flight no more: it is not counted.
    if (this.#options.maxInFlight === 0 || scope.limiterState === 'left') return;
    scope.limiterState = 'inside';
    this.#count(key, 1);
  }

  #leave(scope: RequestScope): void {
    const wasInside = scope.limiterState === 'inside';
    scope.limiterState = 'left';
    if (!wasInside) return;
    this.#count(this.#options.keys.keyOf(scope), -1);
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
