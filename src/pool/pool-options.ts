import type { RunObserver } from '../dispatch/executor.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { CallGroup } from '../dispatch/queue/call-group.ts';
import type { CallerShares } from '../dispatch/queue/queued-callers.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import type { Expected } from './workers/loading.ts';
import type { RetirementLimits } from './workers/retirement.ts';
import type { ThreadOptions } from './workers/threads.ts';

export interface RosterOptions extends Omit<ThreadOptions, 'threads'>, RetirementLimits {
  /** Replicas that serve. */
  readonly workers: number;
  /** Replicas that stand ready to take the place of one that is lost. */
  readonly spareWorkers: number;
  readonly startTimeoutMs: number;
  /** undefined: the first replica tells, and all are on trial. */
  readonly expected: Expected | undefined;
  /** Milliseconds a call may run where its procedure does not say. */
  readonly timeoutMs: number;
  /** Calls that nobody waits for, beyond which a worker takes no more of their procedures, or is replaced. */
  readonly maxOrphansPerWorker: number;
  /** The group that these workers are; undefined: those of all procedures without a group. */
  readonly group: string | undefined;
  /** The streams of the loading that the workers belong to. */
  readonly streams: OpenStreams;
}

/** Whom the roster tells of what concerns the calls. */
export interface RosterOwner {
  /** A worker has become free for more, or has joined. */
  onCapacity(): void;
  /** A worker is gone, and these had not started on it. */
  onUnstarted(groups: readonly CallGroup[]): void;
}

export interface PoolOptions extends RosterOptions {
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Milliseconds a call may wait for a worker. */
  readonly maxQueueMs: number;
  /** How the workers are shared out among callers whose calls wait. */
  readonly shares: CallerShares;
}

/** Who is told of the calls of a pool. */
export interface CallListeners {
  /** Told of each call. */
  readonly observer: CallObserver | undefined;
  /** Told of each call that ended with a result. */
  readonly onRun: RunObserver;
}
