import type { RunObserver } from '../dispatch/executor.ts';
import type { CallObserver } from '../dispatch/observer.ts';
import type { LossReason } from '../jsonrpc/errors.ts';
import type { Fault } from '../router/invoke.ts';
import type { RosterOptions } from './roster.ts';

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
