import type { MessagePort } from 'node:worker_threads';
import type { Fault } from '../router/invoke.ts';
import type { RequestFacts } from '../router/lazy-context.ts';

/** The messages between the front end and a replica. Everything that crosses is declared here. */

/** What a replica is started with: the argument of its one resident task. */
export interface ReplicaTask {
  readonly port: MessagePort;
  readonly ledger: SharedArrayBuffer;
  readonly modules: readonly string[];
  /** Fingerprint of the front end's registry: a replica that differs refuses to start. */
  readonly fingerprint: string;
  readonly options: ReplicaOptions;
}

/** Text longer than this crosses as bytes: cloning a large string stalls the thread that reads it. */
export const largeText = 64 * 1024;

export interface ReplicaOptions {
  readonly maxDepth: number;
  readonly strict: boolean;
  readonly checkResults: boolean;
  readonly maxReplyBytes: number;
}

/**
 * A frame is one flat array, which clones in a fraction of the time of nested ones: `entryLength` items
 * per call, in the order of the fields of FrameEntry.
 */
export type Frame = unknown[];

/** The fields of a call in a frame, in their order. */
export interface FrameEntry {
  /** Names the call in the ledger and in its result. */
  readonly ticket: number;
  /** 1: begins when the entry before it has ended (its predecessor in a batch); 0: on its own. */
  readonly follows: number;
  readonly method: string;
  /** JSON text of the id, undefined for a notification. */
  readonly id: string | undefined;
  /** Text the params stand in (shared bytes for a large one), undefined where there are no params. */
  readonly source: string | SharedArrayBuffer | undefined;
  /** Where the params stand in `source`; `end` -1: `source` is the params. */
  readonly start: number;
  readonly end: number;
  /** Milliseconds the call may run. */
  readonly timeoutMs: number;
  /** Unix milliseconds by which the caller stops waiting, Infinity: never. */
  readonly expiresAt: number;
  readonly facts: RequestFacts | undefined;
}

export const entryLength = 10;

/** Indexes of a call's fields behind the index of its first. */
const Field = {
  ticket: 0,
  follows: 1,
  method: 2,
  id: 3,
  source: 4,
  start: 5,
  end: 6,
  timeoutMs: 7,
  expiresAt: 8,
  facts: 9,
} as const satisfies Record<keyof FrameEntry, number>;

/** One field of the call that begins at `at`: the one place that gives a frame's items their types back. */
export function field<Name extends keyof FrameEntry>(
  frame: Frame,
  at: number,
  name: Name,
): FrameEntry[Name] {
  return frame[at + Field[name]] as FrameEntry[Name];
}

/** To a replica: a frame, or one of these. */
export type Command =
  /** The call's caller has gone or its deadline has passed: abort its signal. */
  | { readonly type: 'abort'; readonly ticket: number; readonly reason: 'cancelled' | 'deadline' }
  /** Answer with `idle`: whether the thread is held up outside of any call. */
  | { readonly type: 'probe' }
  /** Run teardown and end. Sent when nothing is in flight. */
  | { readonly type: 'close' };

export type ToReplica = Frame | Command;

/** A call has ended: ticket, error code (0: a result), microseconds it held the thread, the reply. */
export type ResultMessage = [
  ticket: number,
  code: number,
  micros: number,
  reply: string | Uint8Array,
];

export type Notice =
  | { readonly type: 'ready'; readonly threadId: number; readonly nice: number }
  | { readonly type: 'failed'; readonly message: string; readonly stack: string | undefined }
  /** Every call received so far has ended or waits: the thread is free for more. */
  | { readonly type: 'idle'; readonly lastTicket: number }
  /** An abort was received: the thread is not stuck. */
  | { readonly type: 'aborted'; readonly ticket: number }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** Something threw outside of any call (a timer, a rejection nobody handled). */
  | { readonly type: 'uncaught'; readonly detail: string };

export type FromReplica = ResultMessage | Notice;
