import type { Suspects } from '../base/running-code.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import type { WaitingLimits } from '../dispatch/queue/queued-executor.ts';
import type { OpenStreams } from '../dispatch/streams/open-streams.ts';
import type { SourceFiles } from '../modules/module-files.ts';
import { poolCounterTable, zeroCounts } from '../observe/metric-table.ts';
import type {
  BroadcastReplay,
  BroadcastRequest,
  BroadcastResult,
} from '../procedures/broadcast.ts';
import type { CallLine } from '../procedures/context.ts';
import type { Fault } from '../procedures/fault.ts';
import type { LossReason } from '../protocol/errors.ts';
import { Seats } from './seats.ts';
import type { Ledger } from './wire/ledger.ts';
import type { ReplicaOptions, ToReplica } from './wire/messages.ts';

/** What replicas must have loaded: what their main thread serves. */
export interface Expected {
  readonly fingerprint: string;
  /** Whether handlers may import files. */
  readonly mayImport: boolean;
}

export interface PoolOptions extends WaitingLimits {
  /** The group of these workers; undefined: they run the procedures that name no group. */
  readonly group: string | undefined;
  /** Workers that take all calls. */
  readonly workers: number;
  /** Workers that stand ready to replace one that is lost. */
  readonly spareWorkers: number;
  readonly startTimeoutMs: number;
  readonly modules: readonly string[];
  /** What all threads of the loading have loaded. */
  readonly sources: SourceFiles;
  /** Whether the files may differ from what was loaded, since a reload is on its way. */
  readonly isReloadComing: () => boolean;
  /** Flags of the threads; undefined: those of this process. */
  readonly execArgv: readonly string[] | undefined;
  /** Added to the niceness of the threads, so that the main thread wins a contended core. */
  readonly niceIncrement: number;
  /** Old generation of each worker's heap in MB, 0: V8's own default. */
  readonly workerMemoryMb: number;
  readonly replica: ReplicaOptions;
  /** Milliseconds a call may run, and a generator may hold its thread, if the procedure does not say. */
  readonly timeoutMs: number;
  /** Bytes above which a worker is replaced by a fresh one; 0: never. */
  readonly maxWorkerMemory: number;
  /** Milliseconds within which the streams of a retiring worker must end. */
  readonly maxRequestMs: number;
  /** The streams of the loading that the workers belong to. */
  readonly streams: OpenStreams;
  /** What large params lie in on their way. */
  readonly bodies: BodyMemory;
  /** The counters go on here: they outlive these workers. */
  readonly counters: PoolCounters;
  readonly broadcasts: WorkerBroadcasts;
}

/** The broadcasts of a service, as its workers need them. */
export interface WorkerBroadcasts {
  /** What a worker of the group that starts now runs before its first call. */
  replaysFor(group: string | undefined): readonly BroadcastReplay[];
  /** Runs a broadcast that code in a worker asks for. */
  send(request: BroadcastRequest): Promise<BroadcastResult[]>;
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
  /** A broadcast has thrown in a worker. */
  onBroadcastFailed(name: string, detail: string): void;
  /** Something threw in a worker outside of any call. */
  onUncaught(detail: string): void;
  /**
   * A worker ended by itself, or was ended since it could not be worked with.
   *
   * @param suspects what it was at, as far as that is known
   */
  onLost(reason: LossReason, detail: string | undefined, suspects: Suspects): void;
  /**
   * A worker was ended, since a call of `method` did not return at its deadline.
   *
   * @param ms how long its synchronous code had held the thread; undefined: it was not in that
   * @param detail what the thread was in, mostly its stack
   */
  onKilled(method: string, ms: number | undefined, detail: string | undefined): void;
  /** A handler goes on after its deadline, and holds a place of its procedure's `maxConcurrency`. */
  onPlaceHeld(method: string): void;
  /** Threads can't be asked for their stacks. Called once a process. */
  onNoStack(reason: string): void;
  /** A worker has grown old (maxWorkerMemory, calls that nobody waits for), and is replaced. */
  onRetired(calls: number, memory: number): void;
  /** The replacement of a lost replica could not start. The next try is after `retryMs`. */
  onRestartFailed(message: string, retryMs: number): void;
  /**
   * The modules must be reloaded: no worker is left, and no new one can start, since the files are not those that were loaded.
   *
   * @param mixed instead: a worker has loaded this file, which other threads have loaded with other content
   */
  onOutdated(mixed?: string): void;
  /** The lower priority of the workers has no effect: they compete with the main thread for its core. */
  onNotNiced(): void;
}

export interface WorkerStats {
  readonly threadId: number;
  readonly inFlight: number;
  readonly completed: number;
  /** Streams that are open there. */
  readonly streams: number;
  /**
   * Calls and generators that still run there although nobody waits for them: their callers have left. `overdue`: their
   * deadline has passed.
   */
  readonly left: number;
  readonly overdue: number;
  /** Whose synchronous code the thread is in; undefined: nobody's. */
  readonly running: RunningCall | undefined;
}

/** What a worker does now. */
export interface WorkerStack {
  /** Its number in its group, as in the metrics and in the names of threads. */
  readonly worker: number;
  readonly threadId: number;
  /** undefined: a worker of the procedures without a group. */
  readonly group: string | undefined;
  readonly inFlight: number;
  /** Whose synchronous code the thread is in; undefined: nobody's. */
  readonly running: RunningCall | undefined;
  /** The frames of what it runs, a line each, the innermost first; or in words why there are none. */
  readonly stack: string;
}

/** What holds a thread: a call, or the generator of a stream. */
export interface RunningCall {
  readonly procedure: string;
  /** For how long it does, milliseconds. */
  readonly ms: number;
}

/**
 * What has happened in the pools of a service since its start. Each loading of the modules has pools of its own; the
 * counters go on.
 */
export class PoolCounters {
  readonly counts = zeroCounts(poolCounterTable);
  /** Terminated threads that native code still keeps alive. */
  zombiesNow = 0;
  readonly seats = new Seats();
}

/** The counters of a service, for each group of workers. */
export class CountersByGroup {
  readonly #byGroup = new Map<string | undefined, PoolCounters>();

  /** @param group undefined: the workers of procedures that name no group */
  of(group: string | undefined): PoolCounters {
    let counters = this.#byGroup.get(group);
    if (counters === undefined) {
      counters = new PoolCounters();
      this.#byGroup.set(group, counters);
    }
    return counters;
  }

  /** The groups that have had workers. */
  get groups(): string[] {
    return [...this.#byGroup.keys()].filter((group) => group !== undefined);
  }
}

export interface PoolStats {
  readonly workers: readonly WorkerStats[];
  /** The spare that takes short calls; undefined: the express worker is closed. */
  readonly express: WorkerStats | undefined;
  readonly spares: number;
  /** Threads that load the modules. */
  readonly starting: number;
  readonly queued: number;
  /** Threads that ended by themselves since the service's start, and threads terminated at a deadline: see `PoolCounters`. */
  readonly deaths: number;
  readonly kills: number;
  /** Terminated threads that native code does not let go. */
  readonly zombies: number;
}

export interface ThreadExit {
  /** `closed`: it was told to end, and did. `killed`: the main thread terminated it. The others: it ended by itself. */
  readonly end: 'closed' | 'killed' | 'exit' | 'memory' | 'error';
  /** For the log: what the thread died of. */
  readonly detail: string | undefined;
}

/** The main thread's handle of one replica's thread. */
export interface WorkerThread {
  readonly ledger: Ledger;
  /** How long its event loop has slept since it began, milliseconds. */
  readonly idleMs: number;
  post(message: ToReplica): void;
  /** Reads the results that are in the outbox, whether the replica has told of them or not. */
  collect(): void;
  /** Terminates the thread, whatever it is doing. */
  kill(): void;
}
