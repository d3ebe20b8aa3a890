import type { MessagePort } from 'node:worker_threads';
import type { LoadStage } from '../../modules/load-error.ts';
import type { Files } from '../../modules/modules.ts';
import { type CallLine, maxLine } from '../../procedures/context.ts';
import type { Fault } from '../../procedures/fault.ts';
import type { CheckResults } from '../../procedures/invoke.ts';
import type { Frame } from './frame.ts';

/** What a replica is started with: the argument of its one resident task. */
export interface ReplicaTask {
  readonly port: MessagePort;
  readonly ledger: SharedArrayBuffer;
  readonly outbox: SharedArrayBuffer;
  readonly modules: readonly string[];
  /** Hash of the expected registry: a replica with another one refuses to start. undefined: it reports its own. */
  readonly fingerprint: string | undefined;
  /** `aheadMs` of the main thread, for times that cross between threads. */
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

/** What the main thread asks of streams, each named by the ticket of the call that has opened it. */
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
  /** What is being loaded. If no further message follows, this step hangs. */
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
  /** The replica's own code has failed, or handlers replaced what it needs: the thread is to be replaced. */
  | { readonly type: 'broken'; readonly detail: string }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** A line of `context.log`. */
  | { readonly type: 'line'; readonly line: CallLine }
  /** Something threw outside of any call, such as a timer. `line` is its message and place. */
  | { readonly type: 'uncaught'; readonly detail: string; readonly line: string };

/** What a replica has loaded. */
export interface LoadedReplica {
  readonly fingerprint: string;
  /** The files that were loaded, if the replica was asked to report its fingerprint. */
  readonly files: Files | undefined;
}

/** The message that says that results are in the outbox. */
export const wake = 0;

export type FromReplica = ResultMessage | Notice | typeof wake;

/**
 * An item of a stream, on its way from the replica. It goes the way of a result, through the outbox or in a message, so
 * that a thread that is killed loses no value that was yielded:
 *
 *     ticket      of the call that opened the stream, negative          a call's own ticket is positive
 *     code        of the error of an end; else 0
 *     micros      the item's number in its stream, from 0
 *     elapsedUs   its kind
 *     reply       JSON text: of the value, of what was returned, of the error; '' if it was closed
 *
 * What does not fit into the outbox overtakes nothing there, but what comes after it in the outbox may be read before its
 * message: the main thread puts the items of a stream in order by their numbers.
 */
export const ItemKind = {
  value: 0,
  /** The stream has ended, with what its generator returned. */
  result: 1,
  /** The stream has ended with an error. */
  error: 2,
  /** The generator is gone: the last item of every stream, also of a cancelled one. */
  closed: 3,
} as const;

/** Whether an entry of the outbox, or a message like it, is an item of a stream. */
export function isStreamItem(ticket: number): boolean {
  return ticket < 0;
}

/**
 * What a replica posted; undefined: the replica can't have posted it. Procedures run in the replica's thread: what they
 * replace or get hold of there must do no harm beyond the thread.
 */
export function parseMessage(message: unknown): FromReplica | undefined {
  if (message === wake) return wake;
  if (Array.isArray(message)) return isResult(message) ? message : undefined;
  return isNotice(message) ? message : undefined;
}

type Fields = { readonly [Name in string]?: unknown };

const integer = Number.isSafeInteger;

const noticeChecks: { readonly [Type in Notice['type']]: (notice: Fields) => boolean } = {
  stage: ({ stage }) =>
    isObject(stage) && (stage.step === 'import' || stage.step === 'setup') && isText(stage.module),
  ready: ({ threadId, nice, loaded }) => integer(threadId) && integer(nice) && isLoaded(loaded),
  failed: ({ message, stack }) => isText(message) && isTextOrNone(stack),
  idle: ({ lastTicket }) => integer(lastTicket),
  retired: () => true,
  memory: ({ bytes }) => integer(bytes),
  aborted: ({ ticket }) => integer(ticket),
  broken: ({ detail }) => isText(detail),
  fault: ({ fault }) => isFault(fault),
  line: ({ line }) => isLine(line),
  uncaught: ({ detail, line }) => isText(detail) && isText(line),
};

function isResult(message: readonly unknown[]): message is ResultMessage {
  const [ticket, code, micros, elapsedUs, reply] = message;
  return (
    message.length === 5 &&
    integer(ticket) &&
    integer(code) &&
    typeof micros === 'number' &&
    typeof elapsedUs === 'number' &&
    (isText(reply) || reply instanceof Uint8Array)
  );
}

function isNotice(message: unknown): message is Notice {
  if (!isObject(message) || !isText(message.type)) return false;
  return Object.hasOwn(noticeChecks, message.type)
    ? noticeChecks[message.type as Notice['type']](message)
    : false;
}

function isLoaded(loaded: unknown): loaded is LoadedReplica {
  if (!isObject(loaded) || !isText(loaded.fingerprint)) return false;
  const { files } = loaded;
  return files === undefined || (files instanceof Map && [...files].flat().every(isText));
}

function isFault(fault: unknown): fault is Fault {
  if (!isObject(fault)) return false;
  const { ref, method, detail, exit, count } = fault;
  const isCount = count === undefined || integer(count);
  return isText(ref) && isText(method) && isText(detail) && isTextOrNone(exit) && isCount;
}

function isLine(line: unknown): line is CallLine {
  if (!isObject(line)) return false;
  const { level, method, id, fields, text } = line;
  return (
    (level === 'debug' || level === 'info' || level === 'warn' || level === 'error') &&
    isText(method) &&
    isTextOrNone(id) &&
    isText(fields) &&
    fields.length <= maxLine &&
    isText(text) &&
    text.length <= maxLine
  );
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || isText(value);
}
