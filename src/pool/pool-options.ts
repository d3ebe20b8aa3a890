import type { RunObserver } from '../dispatch/executor.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { CallGroup } from '../dispatch/queue/call-group.ts';
import type { LossReason } from '../jsonrpc/errors.ts';
import type { Fault } from '../router/invoke.ts';
import type { Expected } from './workers/loading.ts';
import type { RetirementLimits } from './workers/retirement.ts';
import type { ThreadOptions } from './workers/threads.ts';
import type { WorkerStateEvents } from './workers/worker-state.ts';

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
}

export interface RosterEvents extends WorkerStateEvents {
  /** A worker has become free for more, or has joined. */
  onCapacity(): void;
  /** A worker is gone, and these had not started on it. */
  onLost(unstarted: readonly CallGroup[], reason: LossReason, detail: string | undefined): void;
  /** A replica that was to take a lost one's place could not start; it is tried again. */
  onRestartFailed(message: string, retryMs: number): void;
  /** A worker that has grown old is about to be replaced. */
  onWorkerRetired(calls: number, memory: number): void;
  onNotNiced(): void;
  /** No worker is left, and none can be had: the files are not those that were loaded. */
  onOutdated(): void;
  onUncaught(detail: string): void;
}

export interface PoolOptions extends RosterOptions {
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Milliseconds a call may wait for a worker. */
  readonly maxQueueMs: number;
}

/** What the pool tells whoever watches over it; the dispatcher writes it to the log. */
export interface PoolEvents {
  /** Told of each call. */
  readonly observer: CallObserver | undefined;
  /** A call ended with a result. */
  readonly onRun: RunObserver;
  onFault(fault: Fault): void;
  /** A worker told what can't be; once for each worker. */
  onGarbled(detail: string): void;
  /** Something threw in a worker outside of any call. */
  onUncaught(detail: string): void;
  onWorkerLost(reason: LossReason, detail: string | undefined): void;
  onWorkerKilled(method: string): void;
  /** A worker reached maxCallsPerWorker or maxWorkerMemory, and is replaced. */
  onWorkerRetired(calls: number, memory: number): void;
  onRestartFailed(message: string, retryMs: number): void;
  /** See {@link RosterEvents.onOutdated}. */
  onOutdated(): void;
  /** The workers' lower priority did not take: they compete with the front end for its core. */
  onNotNiced(): void;
}
