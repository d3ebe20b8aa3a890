import { stackOf } from '../base/message-of.ts';
import type { Config, ConfigOptions } from '../config/config.ts';
import { type CallerKeyOf, CallerKeys } from '../dispatch/caller-key.ts';
import { CallerGate } from '../dispatch/quota/caller-gate.ts';
import { isLimited, type RateLimit, type RateLimitStore } from '../dispatch/quota/rate-limit.ts';
import { TokenBuckets } from '../dispatch/quota/token-buckets.ts';
import { Episode } from '../observe/episode.ts';
import type { Log } from '../observe/log.ts';

/** The options that tell callers apart. Code may give a function or a store where the table of options takes text. */
export interface CallerOptions {
  /** As in the table of options, or a function that tells callers apart. */
  readonly fairBy?: string | CallerKeyOf | undefined;
  /** As in the table of options. The accounts of callers are kept in `store`; without one, in memory. */
  readonly rateLimit?:
    | (Partial<RateLimit> & { readonly store?: RateLimitStore | undefined })
    | 'none'
    | undefined;
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

/** @returns undefined where no option asks for callers to be told apart */
export function createCallerGate(
  config: Config,
  { fairBy = config.fairBy, rateLimit }: CallerOptions,
  log: Log,
): CallerGate | undefined {
  const isRated = isLimited(config.rateLimit);
  if (!isRated && config.maxInFlightPerCaller === 0) return undefined;
  const store = typeof rateLimit === 'object' ? rateLimit.store : undefined;
  return new CallerGate({
    keys: new CallerKeys(fairBy, faultOf('fairBy', log)),
    maxInFlight: config.maxInFlightPerCaller,
    limit: config.rateLimit,
    store: isRated ? (store ?? new TokenBuckets(config.rateLimit)) : undefined,
    onFault: faultOf('rateLimit.store', log),
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
