import { clockMs } from '../base/clock.ts';
import { stackOf } from '../base/message-of.ts';
import { StartupError } from '../base/startup-error.ts';
import { isObject } from '../base/value-kinds.ts';
import { type Config, type ConfigOptions, resolveConfig } from '../config/config.ts';
import { BodyMemory, type BodyMemoryStats } from '../dispatch/body-memory.ts';
import {
  type CallerKeyOf,
  CallerKeys,
  type CallerWeightOf,
  weightBy,
} from '../dispatch/caller-key.ts';
import { DeadlineSweep, OrphanCounts } from '../dispatch/deadline.ts';
import { InlineTurns } from '../dispatch/inline-turns.ts';
import { MainThreadWatch } from '../dispatch/main-thread-watch.ts';
import type { PlacementDecision } from '../dispatch/placement.ts';
import { boundedWeight, type CallerShares } from '../dispatch/queue/fair-queue.ts';
import type { ConcurrencyPlaces } from '../dispatch/queue/queued-executor.ts';
import {
  CallerLimiter,
  type CallerLimiterOptions,
  isLimited,
  type RateLimit,
  type RateLimitStore,
  TokenBuckets,
} from '../dispatch/rate-limit.ts';
import { ReplyMemory, type ReplyMemoryStats } from '../dispatch/reply-memory.ts';
import type { CallerFacts, RequestScope } from '../dispatch/scope.ts';
import type { ServiceState } from '../dispatch/service.ts';
import { Share } from '../dispatch/share.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { type OnCall, toObservers } from '../observe/call-event.ts';
import { Episode } from '../observe/episode.ts';
import { createLog, isLog, type Log, limitGivenLog } from '../observe/log.ts';
import { RecentEvents } from '../observe/recent-events.ts';
import { causeOf, ThrottledCallers } from '../observe/throttled-callers.ts';
import type { AnyRouter } from '../procedures/router.ts';
import { CountersByGroup, type PoolStats } from '../workers/options.ts';
import { Cluster, type RemoteStats } from './cluster.ts';
import { type BlockedFigures, MainThreadBlockers } from './main-thread-blockers.ts';
import { Observation } from './observation.ts';

export interface DispatcherOptions extends Omit<ConfigOptions, keyof CallerOptions>, CallerOptions {
  /** Procedure modules: paths or file URLs, loaded here and in every worker. */
  readonly modules?: readonly string[] | undefined;
  /**
   * Instead of modules: a router of this thread. A router given as an object has no replicas, so all its calls run
   * inline.
   */
  readonly router?: AnyRouter | undefined;
  /** Where log lines go; the default writes them to stderr at `logLevel`. */
  readonly log?: Log | undefined;
  /** Called with each call that has ended. */
  readonly onCall?: OnCall | readonly OnCall[] | undefined;
}

/** What a caller says of one request. */
export interface DispatchOptions extends CallerFacts {
  /** Cancels the request: calls that have not started are dropped, and the signals of running calls abort. */
  readonly signal?: AbortSignal | undefined;
}

export interface DispatcherStats {
  readonly state: ServiceState;
  /** Requests without an answer yet. */
  readonly inFlight: number;
  /** The workers that have no group; undefined if a router without modules is served. */
  readonly pool: PoolStats | undefined;
  /** The workers of each group that a procedure names. */
  readonly groups: Readonly<Record<string, PoolStats>>;
  /** Bytes of all request bodies together. */
  readonly bodies: BodyMemoryStats;
  /** Bytes of all replies that wait for their clients, together. */
  readonly replies: ReplyMemoryStats;
  /** Calls on other machines; undefined: this is no gateway. */
  readonly remote: RemoteStats | undefined;
  /** Where each procedure runs, and why. */
  readonly placement: Readonly<Record<string, PlacementDecision>>;
  /** What has held the main thread for too long since the process started, by procedure; `(authenticate)`: the hook. */
  readonly blocked: Readonly<Record<string, BlockedFigures>>;
}

/** What lives as long as a dispatcher, and what all deployments of its modules share. */
export type ServiceContext = ReturnType<typeof createContext>;

/** Options that are not in the table. */
const otherOptions = ['modules', 'router', 'log', 'onCall', 'weightOf'];

/**
 * Makes the parts of one dispatcher, and starts none of them.
 *
 * @throws StartupError for options that can't be; its one line names the option
 */
export function createContext(options: DispatcherOptions) {
  const { log: given, onCall, fairBy, rateLimit, weightOf, ...rest } = options;
  const { modules: _modules, router: _router, ...settings } = rest;
  // The table of options takes text and numbers alone: functions and stores are for `createCallers`.
  const texts = {
    fairBy: typeof fairBy === 'function' ? undefined : fairBy,
    rateLimit: isObject(rateLimit) ? { ...rateLimit, store: undefined } : rateLimit,
  };
  const config = resolveConfig({ ...settings, ...texts }, {}, otherOptions);
  if (config.hooks !== '') {
    throw new StartupError(
      'option hooks: it is for tandem serve; in code give authenticate and onCall themselves',
    );
  }
  if (config.codegen !== '') {
    throw new StartupError('option codegen: it is for tandem serve; in code run tandem codegen');
  }
  if (given !== undefined && !isLog(given)) {
    throw new StartupError(
      'option log: expected an object with the functions debug, info, warn and error, such as pino()',
    );
  }
  const ownLog = given === undefined ? createLog({ level: config.logLevel }) : undefined;
  const whole = ownLog ?? limitGivenLog(given as Log);
  const recent = new RecentEvents();
  const log = config.console ? recent.tee(whole) : whole;
  const observers = toObservers(onCall, 'option onCall');
  const throttled = config.console ? new ThrottledCallers() : undefined;
  const { shares, early, gate } = createCallers(
    config,
    { fairBy, rateLimit, weightOf },
    log,
    (overload, scope) => observation.onOverloaded(overload, scope),
  );
  const observation = new Observation(
    config,
    log,
    observers,
    config.rateLimit.costMs === 0 ? undefined : (scope, us) => gate?.noteRun(scope, us),
    (overload, scope) => throttled?.note(shares.keyOf(scope), causeOf(overload)),
  );
  const { counts } = observation;
  const deadlines = new DeadlineSweep();
  const streamShare = new Share(config.maxStreams, early);
  const streams = new OpenStreams(config, deadlines, streamShare, observation);
  const replies = new ReplyMemory(config.maxReplyMemory, early, counts);
  const isAlone = config.nats.length === 0;
  return {
    config,
    log,
    /** Opened at the start; undefined: `log` is the caller's. */
    ownLog,
    observation,
    recent,
    /** undefined: nobody looks at who is refused. */
    throttled,
    deadlines,
    /** Whether this service reloads now, or will when its turn has come among the processes. */
    reloads: { isUnderWay: false, isComing: false },
    bodies: new BodyMemory(config.maxBodyMemory, config.maxBodyBytes, clockMs, early, counts),
    replies,
    watch: new MainThreadWatch(),
    blockers: new MainThreadBlockers(log),
    poolCounters: new CountersByGroup(),
    places: new Map() as ConcurrencyPlaces,
    /** Of the main thread. */
    orphans: new OrphanCounts(),
    turns: new InlineTurns(shares, deadlines),
    inFlight: new Share(config.maxInFlight, early),
    streamShare,
    /** How the workers are shared out among callers whose calls wait. */
    shares,
    /** undefined: no option bounds what one caller may take. */
    gate,
    /** The other processes that share a NATS; undefined: there are none. */
    cluster: isAlone
      ? undefined
      : new Cluster({ config, log, observer: observation, shares, replyMemory: replies, streams }),
  };
}

/** The options that tell callers apart. Code may give a function or a store where the table of options takes text. */
interface CallerOptions {
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

/** Faults less than this apart are one outage, which is logged once. */
const quietMs = 5000;

const noFault = (): void => {};

/**
 * What tells callers apart, and what is shared out among them.
 *
 * @param onRefused told of each request that a caller's own limit refuses
 * @throws StartupError if `weightOf` is no function
 */
function createCallers(
  config: Config,
  { fairBy = config.fairBy, rateLimit, weightOf }: CallerOptions,
  log: Log,
  onRefused: CallerLimiterOptions['onRefused'],
) {
  if (weightOf !== undefined && typeof weightOf !== 'function') {
    throw new StartupError(`option weightOf: expected a function, not ${typeof weightOf}`);
  }
  const keys = new CallerKeys(fairBy, faultOf('fairBy', log));
  const onFault = faultOf('weightOf', log);
  const weigh = (scope: RequestScope, onWrong: (error: unknown) => void): number =>
    weightOf === undefined ? 1 : boundedWeight(weightBy(weightOf, scope, onWrong));
  const shares: CallerShares = {
    keyOf: (scope) => keys.keyOf(scope),
    weightOf: (scope) => weigh(scope, onFault),
  };
  /** The same for requests whose callers may not have signed in yet. */
  const early: CallerShares = {
    keyOf: (scope) => keys.earlyKeyOf(scope),
    // The function may expect an `auth`: that it fails before the caller has signed in is no fault.
    weightOf: (scope) => weigh(scope, scope.authText === undefined ? noFault : onFault),
  };
  const isRated = isLimited(config.rateLimit);
  if (!isRated && config.maxInFlightPerCaller === 0) return { shares, early, gate: undefined };
  const store = typeof rateLimit === 'object' ? rateLimit.store : undefined;
  const gate = new CallerLimiter({
    keys,
    maxInFlight: config.maxInFlightPerCaller,
    limit: config.rateLimit,
    store: isRated ? (store ?? new TokenBuckets(config.rateLimit)) : undefined,
    onFault: faultOf('rateLimit.store', log),
    onRefused,
  });
  return { shares, early, gate };
}

function faultOf(hook: string, log: Log): (error: unknown) => void {
  let last: unknown;
  const detail = (): string => stackOf(last);
  const faults = new Episode(quietMs, {
    begins: () => log.error({ event: 'hook-failed', hook, detail }, 'a hook fails'),
    ends: () => {},
  });
  return (error) => {
    last = error;
    faults.note();
  };
}
