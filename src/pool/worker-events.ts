import type { LossReason } from '../jsonrpc/errors.ts';
import type { CallLine } from '../router/call-log.ts';
import type { Fault } from '../router/invoke.ts';

/**
 * What happens to the workers that an operator should know of. One object goes from the service straight to whoever
 * sees the event. So a new event is a line here, a call where it happens, and a line in `service/worker-log.ts`.
 */
export interface WorkerEvents {
  /** A call ended with -32603: its ref and the stack. */
  onFault(fault: Fault): void;
  /** A call in a worker has written a line. */
  onLine(line: CallLine): void;
  /** A worker told what can't be; once for each worker. */
  onGarbled(detail: string): void;
  /** Something threw in a worker outside of any call. */
  onUncaught(detail: string): void;
  /** A worker ended by itself, or was ended since nothing could be done with it. */
  onLost(reason: LossReason, detail: string | undefined): void;
  /** A worker was ended, since a call of `method` did not return at its deadline. */
  onKilled(method: string): void;
  /** A worker has grown old (maxCallsPerWorker, maxWorkerMemory, calls that nobody waits for), and is replaced. */
  onRetired(calls: number, memory: number): void;
  /** A replica that was to take a lost one's place could not start; it is tried again after `retryMs`. */
  onRestartFailed(message: string, retryMs: number): void;
  /** No worker is left, and none can be had: the files are not those that were loaded. */
  onOutdated(): void;
  /** The workers' lower priority did not take: they compete with the front end for its core. */
  onNotNiced(): void;
}
