import { StartupError } from '../base/startup-error.ts';
import { type Config, resolveConfig } from '../config/config.ts';
import { BodyMemory } from '../dispatch/body-memory.ts';
import { DeadlineSweep } from '../dispatch/deadline.ts';
import { FrontEndWatch } from '../dispatch/front-end-watch.ts';
import { ReplyMemory } from '../dispatch/reply-memory.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { toObservers } from '../observe/call-event.ts';
import { createLog, isLog, type LazyLog, type Log } from '../observe/log.ts';
import { RecentEvents } from '../observe/recent-events.ts';
import { type ThrottleCause, ThrottledCallers } from '../observe/throttled-callers.ts';
import { CountersByGroup } from '../pool/stats.ts';
import { Admission } from './admission.ts';
import { configOfCallers, createCallers } from './callers.ts';
import { Cluster } from './cluster.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';
import { FrontEndBlockers } from './front-end-blockers.ts';
import { Metrics } from './metrics.ts';
import { Observation } from './observation.ts';
import { toServable } from './servable.ts';
import { Serving } from './serving.ts';
import { loadTracing, type Tracing } from './tracing.ts';

/** Options that are not in the table. */
const otherOptions = ['modules', 'router', 'log', 'onCall', 'weightOf'];

/** What a dispatcher is made of. */
export interface Parts {
  readonly config: Config;
  readonly log: Log;
  /** Opened at the start; undefined: `log` is the caller's. */
  readonly ownLog: LazyLog | undefined;
  readonly serving: Serving;
  readonly admission: Admission;
  readonly observation: Observation;
  readonly deadlines: DeadlineSweep;
  readonly bodies: BodyMemory;
  readonly replies: ReplyMemory;
  readonly watch: FrontEndWatch;
  readonly blockers: FrontEndBlockers;
  /** The other processes that share a NATS; undefined: there are none. */
  readonly cluster: Cluster | undefined;
  /** undefined where the option `metrics` is off. */
  readonly metrics: Metrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Told how many calls a batch has; undefined: nobody counts them. */
  readonly onBatch: ((scope: RequestScope, calls: number) => void) | undefined;
}

/**
 * Makes the parts of one dispatcher, and starts none of them.
 *
 * @throws StartupError for options that can't be; its one line names the option
 */
export function createParts(options: DispatcherOptions): Parts {
  const { modules, router, log: givenLog, onCall, fairBy, rateLimit, weightOf, ...rest } = options;
  const source = toServable(modules, router);
  const own = configOfCallers({ fairBy, rateLimit });
  const config = resolveConfig({ ...rest, ...own }, {}, otherOptions);
  if (config.hooks !== '') {
    throw new StartupError(
      'option hooks: it is for tandem serve; in code give authenticate and onCall themselves',
    );
  }
  if (givenLog !== undefined && !isLog(givenLog)) {
    throw new StartupError(
      'option log: expected an object with the functions debug, info, warn and error, such as pino()',
    );
  }
  const ownLog = givenLog === undefined ? createLog({ level: config.logLevel }) : undefined;
  const recent = new RecentEvents();
  const untold = givenLog ?? (ownLog as Log);
  const log = config.console ? recent.tee(untold) : untold;
  const observers = toObservers(onCall, 'option onCall');
  const throttled = config.console ? new ThrottledCallers() : undefined;
  const onThrottled = (scope: RequestScope, cause: ThrottleCause): void =>
    throttled?.note(shares.keyOf(scope), cause);
  const { shares, gate } = createCallers(config, { fairBy, rateLimit, weightOf }, log, onThrottled);
  const onRun =
    config.rateLimit.costMs === 0
      ? undefined
      : (scope: RequestScope, us: number) => gate?.noteRun(scope, us);
  const observation = new Observation({ ...config, log, onCall: observers, onRun, onThrottled });
  const deadlines = new DeadlineSweep();
  const streamCount = { open: 0 };
  const streams = new OpenStreams(config, deadlines, streamCount, observation);
  const isAlone = config.nats.length === 0;
  const shared = {
    config,
    log,
    deadlines,
    observation,
    cluster: isAlone
      ? undefined
      : new Cluster({ config, log, observer: observation, shares, streams }),
    poolCounters: new CountersByGroup(),
    bodies: new BodyMemory(config.maxBodyMemory, config.maxBodyBytes),
    replies: new ReplyMemory(config.maxReplyMemory),
    watch: new FrontEndWatch(),
    blockers: new FrontEndBlockers(log),
    shares,
    streamCount,
  };
  const serving = new Serving(source, shared);
  const { maxInFlight } = config;
  return {
    ...shared,
    ownLog,
    serving,
    admission: new Admission({
      maxInFlight,
      serving,
      observer: observation,
      deadlines,
      gate,
      onThrottled,
    }),
    metrics: config.metrics
      ? new Metrics({ ...shared, serving, recentEvents: recent.list, throttled })
      : undefined,
    tracing: config.tracing ? loadTracing() : undefined,
    onBatch: gate && ((scope, calls) => gate.noteBatch(scope, calls)),
  };
}
