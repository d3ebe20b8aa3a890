import type { MessagePort } from 'node:worker_threads';
import type { LoadStage } from '../../modules/load-stage.ts';
import type { Files } from '../../modules/modules.ts';
import type { Fault } from '../../router/invoke.ts';
import type { Frame } from './frame.ts';

/** The messages between the front end and a replica. Everything that crosses is declared here; see `parseMessage`. */

/** What a replica is started with: the argument of its one resident task. */
export interface ReplicaTask {
  readonly port: MessagePort;
  readonly ledger: SharedArrayBuffer;
  readonly outbox: SharedArrayBuffer;
  readonly modules: readonly string[];
  /** Of the registry that is expected: a replica that differs refuses to start. undefined: this one tells. */
  readonly fingerprint: string | undefined;
  /** The front end's own, for times that cross: see `aheadMs`. */
  readonly aheadMs: number;
  readonly options: ReplicaOptions;
}

export interface ReplicaOptions {
  readonly maxDepth: number;
  readonly strict: boolean;
  readonly checkResults: boolean;
  readonly maxReplyBytes: number;
  /** Bytes above which `memory` is told; 0: never. */
  readonly maxWorkerMemory: number;
  /** Handlers run in the span of their call. */
  readonly tracing: boolean;
}

/** To a replica: a frame, or one of these. */
export type Command =
  /** The call's caller has gone or its deadline has passed: abort its signal. */
  | { readonly type: 'abort'; readonly ticket: number; readonly reason: 'cancelled' | 'deadline' }
  /** Answer with `idle`: whether the thread is held up outside of any call. */
  | { readonly type: 'probe' }
  /** Run teardown, and say so: the thread is to be replaced. Sent when nothing is in flight. */
  | { readonly type: 'retire' }
  /** Run teardown and end. Sent when nothing is in flight. */
  | { readonly type: 'close' };

export type ToReplica = Frame | Command;

/** The result of a call whose reply the outbox does not take: see `ResultReader`. */
export type ResultMessage = [
  ticket: number,
  code: number,
  micros: number,
  elapsedUs: number,
  reply: string | Uint8Array,
];

export type Notice =
  /** What is being loaded: where nothing follows, that hangs. */
  | { readonly type: 'stage'; readonly stage: LoadStage }
  | {
      readonly type: 'ready';
      readonly threadId: number;
      readonly nice: number;
      readonly loaded: LoadedReplica;
    }
  | { readonly type: 'failed'; readonly message: string; readonly stack: string | undefined }
  /** Every call received so far has ended or waits: the thread is free for more. */
  | { readonly type: 'idle'; readonly lastTicket: number }
  /** Told to retire: it has torn down, and can be terminated. */
  | { readonly type: 'retired' }
  /** Bytes that the thread's heap holds, and what is bound to it outside. */
  | { readonly type: 'memory'; readonly bytes: number }
  /** An abort was received: the thread is not stuck. */
  | { readonly type: 'aborted'; readonly ticket: number }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** Something threw outside of any call (a timer, a rejection nobody handled); `line` is its message and place. */
  | { readonly type: 'uncaught'; readonly detail: string; readonly line: string };

/** What a replica has loaded. */
export interface LoadedReplica {
  readonly fingerprint: string;
  /** Where it was to tell the fingerprint: the files it was loaded from. */
  readonly files: Files | undefined;
}

/** There are results in the outbox. */
export const wake = 0;

export type FromReplica = ResultMessage | Notice | typeof wake;
