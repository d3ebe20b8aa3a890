import type { MessagePort } from 'node:worker_threads';
import type { LoadStage } from '../../modules/load-stage.ts';
import type { Files } from '../../modules/modules.ts';
import type { CallLine } from '../../router/call-log.ts';
import type { Fault } from '../../router/fault.ts';
import type { CheckResults } from '../../router/invoke.ts';
import type { Frame } from './frame.ts';

/**
 * The messages between the front end and a replica. Everything that crosses is declared here; `parseMessage` checks
 * what comes back.
 */

/** What a replica is started with: the argument of its one resident task. */
export interface ReplicaTask {
  readonly port: MessagePort;
  readonly ledger: SharedArrayBuffer;
  readonly outbox: SharedArrayBuffer;
  readonly modules: readonly string[];
  /**
   * Hash of the registry that is expected: a replica with another registry refuses to start. undefined: this replica
   * reports its own.
   */
  readonly fingerprint: string | undefined;
  /**
   * How far the shared clock is ahead of the front end's `clockMs`, for times that cross between threads: see
   * `aheadMs`.
   */
  readonly aheadMs: number;
  readonly options: ReplicaOptions;
}

export interface ReplicaOptions {
  readonly maxDepth: number;
  readonly strict: boolean;
  readonly checkResults: CheckResults;
  readonly maxReplyBytes: number;
  /** Bytes above which the replica reports `memory`; 0: never. */
  readonly maxWorkerMemory: number;
  /** Whether handlers run in the span of their call. */
  readonly tracing: boolean;
}

/** A message to a replica, other than a frame. */
export type Command =
  /** Abort the call's signal: its caller has gone, or its deadline has passed. */
  | { readonly type: 'abort'; readonly ticket: number; readonly reason: 'cancelled' | 'deadline' }
  /** Answer with `idle`. No answer: something outside of any call holds the thread up. */
  | { readonly type: 'probe' }
  | StreamCommand
  /** Run teardown and report `retired`: the thread is to be replaced. Sent when nothing is in flight. */
  | { readonly type: 'retire' }
  /** Run teardown and end. Sent when nothing is in flight. */
  | { readonly type: 'close' };

/** What the front end asks of streams, each named by the ticket of the call that has opened it. */
export type StreamCommand =
  /** Three numbers a stream: ticket, values, characters. What one turn of the event loop grants crosses together. */
  | { readonly type: 'grant'; readonly grants: readonly number[] }
  /** Nobody reads: the signal aborts with this error, and the generator is closed. */
  | ({ readonly type: 'cancel' } & StreamReason)
  /** The signal aborts with this error, and the stream ends with it at its next yield. */
  | ({ readonly type: 'drain' } & StreamReason);

interface StreamReason {
  readonly ticket: number;
  readonly code: number;
  readonly data: unknown;
}

export type ToReplica = Frame | Command;

/** The result of a call whose reply does not go into the outbox, or such an item of a stream: see `ResultReader`. */
export type ResultMessage = [
  ticket: number,
  code: number,
  micros: number,
  elapsedUs: number,
  reply: string | Uint8Array,
];

export type Notice =
  /** What is being loaded. Where no further message follows, this step hangs. */
  | { readonly type: 'stage'; readonly stage: LoadStage }
  | {
      readonly type: 'ready';
      readonly threadId: number;
      readonly nice: number;
      readonly loaded: LoadedReplica;
    }
  | { readonly type: 'failed'; readonly message: string; readonly stack: string | undefined }
  /** Every call received so far has ended or waits: the thread is free for more calls. */
  | { readonly type: 'idle'; readonly lastTicket: number }
  /** Teardown after `retire` has run: the thread can be terminated. */
  | { readonly type: 'retired' }
  /** Bytes that the thread's heap holds, and bytes outside of the heap that belong to it. */
  | { readonly type: 'memory'; readonly bytes: number }
  /** An abort was received, so the thread is not stuck. */
  | { readonly type: 'aborted'; readonly ticket: number }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** A line of `context.log`. */
  | { readonly type: 'line'; readonly line: CallLine }
  /**
   * Something threw outside of any call, such as a timer or a rejection that nobody handled. `line` is its message
   * and place.
   */
  | { readonly type: 'uncaught'; readonly detail: string; readonly line: string };

/** What a replica has loaded. */
export interface LoadedReplica {
  readonly fingerprint: string;
  /** The files that were loaded, where the replica was asked to report its fingerprint. */
  readonly files: Files | undefined;
}

/** The message that says that results are in the outbox. */
export const wake = 0;

export type FromReplica = ResultMessage | Notice | typeof wake;
