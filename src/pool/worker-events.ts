import type { LossReason } from '../jsonrpc/errors.ts';
import type { CallLine } from '../router/call-log.ts';
import type { Fault } from '../router/fault.ts';

/**
 * Events of workers that an operator should know of. The service hands one object straight to whoever sees the events.
 * So a new event is a line here, a call where it happens, and a line in `service/worker-log.ts`.
 */
export interface WorkerEvents {
  /** A call ended with -32603: its ref and the stack. */
  onFault(fault: Fault): void;
  /** A call in a worker has written a line. */
  onLine(line: CallLine): void;
  /** A worker sent something that no replica sends. Called once for each worker. */
  onGarbled(detail: string): void;
  /** Something threw in a worker outside of any call. */
  onUncaught(detail: string): void;
  /** A worker ended by itself, or was ended since it could not be worked with. */
  onLost(reason: LossReason, detail: string | undefined): void;
  /** A worker was ended, since a call of `method` did not return at its deadline. */
  onKilled(method: string): void;
  /** A worker has grown old (maxCallsPerWorker, maxWorkerMemory, calls that nobody waits for), and is replaced. */
  onRetired(calls: number, memory: number): void;
  /** The replacement of a lost replica could not start. The next try is after `retryMs`. */
  onRestartFailed(message: string, retryMs: number): void;
  /** No worker is left, and no new one can start: the files of the modules are not those that were loaded. */
  onOutdated(): void;
  /** The lower priority of the workers has no effect: they compete with the front end for its core. */
  onNotNiced(): void;
}
