import type { RunObserver } from '../dispatch/executor.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { CallTrain } from '../dispatch/queue/call-train.ts';
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
  /** What replicas must load. undefined: the first replica tells it, and all replicas are on trial. */
  readonly expected: Expected | undefined;
  /** Milliseconds a call may run where its procedure does not say. */
  readonly timeoutMs: number;
  /** With so many calls that nobody waits for, a worker takes no more calls of their procedures, or is replaced. */
  readonly maxOrphansPerWorker: number;
  /** The group of these workers; undefined: they run the procedures that name no group. */
  readonly group: string | undefined;
  /** The streams of the loading that the workers belong to. */
  readonly streams: OpenStreams;
}

/** The roster tells it what concerns calls. */
export interface RosterOwner {
  /** A worker can take more calls, or a new worker has joined. */
  onCapacity(): void;
  /** A worker is gone. These trains have calls that had not started there. */
  onUnstarted(trains: readonly CallTrain[]): void;
}

export interface PoolOptions extends RosterOptions {
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Milliseconds a call may wait for a worker. */
  readonly maxQueueMs: number;
  /** How the workers are shared out among callers whose calls wait. */
  readonly shares: CallerShares;
}

/** Functions that are told of the calls of a pool. */
export interface CallListeners {
  /** Told of each call. */
  readonly observer: CallObserver | undefined;
  /** Told of each call that ended with a result. */
  readonly onRun: RunObserver;
}
