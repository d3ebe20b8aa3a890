import { stackOf } from '../base/message-of.ts';
import { StartupError } from '../base/startup-error.ts';
import type { Config, ConfigOptions } from '../config/config.ts';
import {
  type CallerKeyOf,
  CallerKeys,
  type CallerWeightOf,
  weightBy,
} from '../dispatch/caller-key.ts';
import type { CallerShares } from '../dispatch/queue/queued-callers.ts';
import { CallerGate, type CallerGateOptions } from '../dispatch/quota/caller-gate.ts';
import { isLimited, type RateLimit, type RateLimitStore } from '../dispatch/quota/rate-limit.ts';
import { TokenBuckets } from '../dispatch/quota/token-buckets.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';
import type { ThrottleCause } from '../observe/throttled-callers.ts';

/** The options that tell callers apart. Code may give a function or a store where the table of options takes text. */
export interface CallerOptions {
  /** As in the table of options, or a function that tells callers apart. */
  readonly fairBy?: string | CallerKeyOf | undefined;
  /** As in the table of options. The accounts of callers are kept in `store`; without one, in memory. */
  readonly rateLimit?:
    | (Partial<RateLimit> & { readonly store?: RateLimitStore | undefined })
    | 'none'
    | undefined;
  /**
   * The share that a caller gets of the workers while others wait for them too: a number between 1/64 and 64, where 1 is the share of
   * everybody else. Asked when a caller comes to wait, so it must be quick. Without it all are equal.
   */
  readonly weightOf?: CallerWeightOf | undefined;
}

/** The part of these options that the table of options knows: text and numbers, no functions or stores. */
export function configOfCallers({ fairBy, rateLimit }: CallerOptions): ConfigOptions {
  const own: { fairBy?: string; rateLimit?: Partial<RateLimit> | 'none' } = {};
  if (fairBy !== undefined && typeof fairBy !== 'function') own.fairBy = fairBy;
  if (typeof rateLimit === 'object' && rateLimit !== null) {
    const { store: _, ...limit } = rateLimit;
    own.rateLimit = limit;
  } else if (rateLimit !== undefined) {
    own.rateLimit = rateLimit;
  }
  return own;
}

/** Faults less than this apart are one outage, which is logged once. */
const quietMs = 5000;

/** What tells callers apart, and what is shared out among them. */
export interface Callers {
  readonly shares: CallerShares;
  /** undefined where no option bounds what one caller may take. */
  readonly gate: CallerGate | undefined;
}

/**
 * @param onThrottled told of each request that a caller's own limit refuses
 * @throws StartupError where `weightOf` is no function
 */
export function createCallers(
  config: Config,
  { fairBy = config.fairBy, rateLimit, weightOf }: CallerOptions,
  log: Log,
  onThrottled: (scope: RequestScope, cause: ThrottleCause) => void,
): Callers {
  const keys = new CallerKeys(fairBy, faultOf('fairBy', log));
  const gate = createGate(config, keys, rateLimit, log, onThrottled);
  return { shares: createShares(keys, weightOf, log), gate };
}

function createShares(
  keys: CallerKeys,
  weightOf: CallerWeightOf | undefined,
  log: Log,
): CallerShares {
  const keyOf = (scope: RequestScope): string => keys.keyOf(scope);
  if (weightOf === undefined) return { keyOf, weightOf: () => 1 };
  if (typeof weightOf !== 'function') {
    throw new StartupError(`option weightOf: expected a function, not ${typeof weightOf}`);
  }
  const onFault = faultOf('weightOf', log);
  return { keyOf, weightOf: (scope) => weightBy(weightOf, scope, onFault) };
}

function createGate(
  config: Config,
  keys: CallerKeys,
  rateLimit: CallerOptions['rateLimit'],
  log: Log,
  onRefused: CallerGateOptions['onRefused'],
): CallerGate | undefined {
  const isRated = isLimited(config.rateLimit);
  if (!isRated && config.maxInFlightPerCaller === 0) return undefined;
  const store = typeof rateLimit === 'object' ? rateLimit.store : undefined;
  return new CallerGate({
    keys,
    maxInFlight: config.maxInFlightPerCaller,
    limit: config.rateLimit,
    store: isRated ? (store ?? new TokenBuckets(config.rateLimit)) : undefined,
    onFault: faultOf('rateLimit.store', log),
    onRefused,
  });
}

function faultOf(hook: string, log: Log): (error: unknown) => void {
  let detail = '';
  const faults = new Episode(quietMs, {
    begins: () => log.error({ event: 'hook-failed', hook, detail }, 'a hook fails'),
    ends: () => {},
  });
  return (error) => {
    detail = stackOf(error);
    faults.note();
  };
}
