import type { ConfigOptions } from '../config/config.ts';
import type { BodyMemoryStats } from '../dispatch/body-memory.ts';
import type { CallerFacts } from '../dispatch/caller-facts.ts';
import type { PlacementDecision } from '../dispatch/placement.ts';
import type { ReplyMemoryStats } from '../dispatch/reply-memory.ts';
import type { ServiceState } from '../dispatch/service.ts';
import type { OnCall } from '../observe/call-event.ts';
import type { Log } from '../observe/log.ts';
import type { PoolStats } from '../pool/stats.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { CallerOptions } from './callers.ts';
import type { RemoteStats } from './cluster.ts';
import type { BlockedFigures } from './front-end-blockers.ts';

export interface DispatcherOptions extends Omit<ConfigOptions, keyof CallerOptions>, CallerOptions {
  /** Procedure modules: paths or file URLs, loaded here and in every worker. */
  readonly modules?: readonly string[] | undefined;
  /**
   * In place of modules: a router of this thread. A router given as an object has no replicas, so all its calls run
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
  /** The workers that have no group; undefined where a router without modules is served. */
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
  /** What has held the front end for too long since the process started, by procedure; `(authenticate)`: the hook. */
  readonly blocked: Readonly<Record<string, BlockedFigures>>;
}
