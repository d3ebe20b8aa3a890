import type { Suspects } from '../base/running-code.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import type { WaitingLimits } from '../dispatch/queue/waiting-groups.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import type { SourceFiles } from '../modules/module-files.ts';
import type { CallLine } from '../procedures/context.ts';
import type { Fault } from '../procedures/fault.ts';
import type { LossReason } from '../protocol/errors.ts';
import type { PoolCounters } from './stats.ts';
import type { ReplicaOptions } from './wire/messages.ts';

/** What replicas must have loaded: what their main thread serves. */
export interface Expected {
  readonly fingerprint: string;
  readonly sources: SourceFiles;
}

export interface PoolOptions extends WaitingLimits {
  /** The group of these workers; undefined: they run the procedures that name no group. */
  readonly group: string | undefined;
  /** Workers that take all calls. */
  readonly workers: number;
  /** Workers that stand ready to replace one that is lost. */
  readonly spareWorkers: number;
  readonly startTimeoutMs: number;
  /** What replicas must load. undefined: the first replica reports it, and all replicas are on trial. */
  readonly expected: Expected | undefined;
  readonly modules: readonly string[];
  /** Flags of the threads; undefined: those of this process. */
  readonly execArgv: readonly string[] | undefined;
  /** Added to the niceness of the threads, so that the main thread wins a contended core. */
  readonly niceIncrement: number;
  /** Old generation of each worker's heap in MB, 0: V8's own default. */
  readonly workerMemoryMb: number;
  readonly replica: ReplicaOptions;
  /** Milliseconds a call may run, and a generator may hold its thread, if the procedure does not say. */
  readonly timeoutMs: number;
  /** Calls and bytes after which a worker is replaced by a fresh one; 0: never. */
  readonly maxCallsPerWorker: number;
  readonly maxWorkerMemory: number;
  /**
   * With so many calls that nobody waits for, a worker takes no more calls of their procedures. It is replaced with so
   * many that go on after their deadline, or so many generators that go on long after they were told to end.
   */
  readonly maxOrphansPerWorker: number;
  /** Milliseconds within which the streams of a retiring worker must end. */
  readonly maxRequestMs: number;
  /** The streams of the loading that the workers belong to. */
  readonly streams: OpenStreams;
  /** What large params lie in on their way. */
  readonly bodies: BodyMemory;
  /** The counters go on here: they outlive these workers. */
  readonly counters: PoolCounters;
}

/**
 * Events of workers that an operator should know of. The object is passed to whoever sees the events, so a new event is
 * a line here, a call where it happens, and a line in `service/worker-log.ts`.
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
  /**
   * A worker ended by itself, or was ended since it could not be worked with.
   *
   * @param suspects what it was at, as far as that is known
   */
  onLost(reason: LossReason, detail: string | undefined, suspects: Suspects): void;
  /** A worker was ended, since a call of `method` did not return at its deadline. */
  onKilled(method: string): void;
  /** A worker has grown old (maxCallsPerWorker, maxWorkerMemory, calls that nobody waits for), and is replaced. */
  onRetired(calls: number, memory: number): void;
  /** The replacement of a lost replica could not start. The next try is after `retryMs`. */
  onRestartFailed(message: string, retryMs: number): void;
  /** No worker is left, and no new one can start: the files of the modules are not those that were loaded. */
  onOutdated(): void;
  /** The lower priority of the workers has no effect: they compete with the main thread for its core. */
  onNotNiced(): void;
}
