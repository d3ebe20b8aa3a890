import { wallTimeOf } from '../base/clock.ts';
import { type ErrorCode, standardError } from '../protocol/errors.ts';
import type { Broadcast } from './broadcast.ts';
import type { CallContext, CallLines, CallLog } from './context.ts';
import type { ErrorMakers } from './declarations.ts';
import type { Procedure } from './types.ts';

export interface RequestFacts {
  /** Frozen. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly remoteAddress?: string | undefined;
  /** JSON text of what the `authenticate` hook returned. Each call that asks parses its own copy. */
  readonly authText?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** What the thread of a call has for all its calls. */
export interface CallHost {
  readonly lines: CallLines;
  /** Whether the main thread has told this thread, by shared memory, that nobody waits for the call of `ticket`. */
  isCancelled?(ticket: number): boolean;
  /** undefined: no service runs these calls, so there are no other threads. */
  readonly broadcast?: Broadcast | undefined;
  /**
   * Runs the handler of a batch procedure for a call, with others that come at the same time.
   *
   * @returns the call's result, or the promise of it; throws and rejects as a handler does
   */
  join?(params: Record<string, unknown>, context: LazyContext): unknown;
  /** When the result of a call that has waited may be checked and written; undefined: at once. */
  resultTurn?(context: LazyContext): Promise<void> | undefined;
}

/** The run of a handler that a call is part of. */
export interface JoinedRun {
  /** Calls of the run. */
  readonly size: number;
  /** @param isFirst false: the call had been aborted for another reason before */
  onAbort(reason: Error, isFirst: boolean): void;
}

const noBroadcast: Broadcast = () =>
  Promise.reject(
    new Error(
      'context.broadcast: no service runs this call: give createCaller the option broadcast, or use the fetch of a Dispatcher',
    ),
  );

const silent = (): void => {};
const noLog: CallLog = Object.freeze({ debug: silent, info: silent, warn: silent, error: silent });

/** Two wall clock times that are computed from `clockMs` differ by up to so many milliseconds, though nobody set the clock. */
const clocksDifferMs = 2;

const noErrors: Record<never, never> = Object.freeze({});
const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** An error, or a standard one that is made when somebody asks for it: an error with its stack costs more than a small call. */
export type AbortReason = Error | { readonly code: ErrorCode; readonly data?: unknown };

function toError(reason: AbortReason): Error {
  return reason instanceof Error ? reason : standardError(reason.code, reason.data);
}

/**
 * The context of a call, inline and in a worker. Its signal and id cost nothing until the handler reads them. It has no
 * own members: those of an instance are what middleware has added.
 */
export class LazyContext implements CallContext {
  #resumedMs = 0;
  readonly #procedure: Procedure;
  readonly #id: string | undefined;
  readonly #facts: RequestFacts | undefined;
  /** When the call must have ended, by `clockMs`. */
  readonly #endsAt: number;
  /** The deadline that the handler read last, Unix milliseconds. */
  #deadline = 0;
  #auth: unknown;
  #controller: AbortController | undefined;
  #abortReason: AbortReason | undefined;
  readonly #host: CallHost | undefined;
  readonly #ticket: number;
  readonly #request: object | undefined;
  #log: CallLog | undefined;
  #run: JoinedRun | undefined;

  /**
   * @param id JSON text of the request's id, undefined for a notification
   * @param endsAt when the call must have ended, by `clockMs`
   * @param ticket the call's name in its worker
   * @param request kept for the host
   */
  constructor(
    procedure: Procedure,
    id: string | undefined,
    facts: RequestFacts | undefined,
    endsAt: number,
    host?: CallHost,
    ticket = 0,
    request?: object,
  ) {
    this.#procedure = procedure;
    this.#id = id;
    this.#facts = facts;
    this.#endsAt = endsAt;
    this.#host = host;
    this.#ticket = ticket;
    this.#request = request;
  }

  /** JSON text of the request's id. No member of the context: middleware may add any name that handlers do not know. */
  static idTextOf(context: LazyContext): string | undefined {
    return context.#id;
  }

  static procedureOf(context: LazyContext): Procedure {
    return context.#procedure;
  }

  static hostOf(context: LazyContext): CallHost | undefined {
    return context.#host;
  }

  static requestOf(context: LazyContext): object | undefined {
    return context.#request;
  }

  static endsAtOf(context: LazyContext): number {
    return context.#endsAt;
  }

  /** Why nobody waits for the call; undefined: somebody does, or only shared memory tells that nobody does. */
  static abortReasonOf(context: LazyContext): Error | undefined {
    const reason = context.#abortReason;
    if (reason === undefined || reason instanceof Error) return reason;
    const error = toError(reason);
    context.#abortReason = error;
    return error;
  }

  /** The calls that its handler ran for at once; 0: it has joined no run. */
  static togetherOf(context: LazyContext): number {
    return context.#run?.size ?? 0;
  }

  static joinRun(context: LazyContext, run: JoinedRun): void {
    context.#run = run;
  }

  /** Set by `invoke`: how long the handler held its thread, if it began after a wait for what runs before it. */
  get resumedMs(): number {
    return this.#resumedMs;
  }

  set resumedMs(ms: number) {
    this.#resumedMs = ms;
  }

  /** Computed from the wall clock as it is now: setting the wall clock must not change how much time is left. */
  get deadline(): number {
    const deadline = Math.floor(wallTimeOf(this.#endsAt));
    // The two clocks are not read in the same instant. The handler must still read the same deadline each time.
    if (Math.abs(deadline - this.#deadline) > clocksDifferMs) this.#deadline = deadline;
    return this.#deadline;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(LazyContext.abortReasonOf(this));
    }
    return this.#controller.signal;
  }

  get cancelled(): boolean {
    return this.#abortReason !== undefined || this.#host?.isCancelled?.(this.#ticket) === true;
  }

  get log(): CallLog {
    this.#log ??= this.#host?.lines.of(this.#procedure.name, this.#id) ?? noLog;
    return this.#log;
  }

  get id(): string | number | null | undefined {
    return this.#id === undefined ? undefined : (JSON.parse(this.#id) as string | number | null);
  }

  get method(): string {
    return this.#procedure.name;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#callerFacts?.headers ?? noHeaders;
  }

  get remoteAddress(): string | undefined {
    return this.#callerFacts?.remoteAddress;
  }

  get auth(): unknown {
    if (this.#auth === undefined) {
      const text = this.#callerFacts?.authText;
      if (text !== undefined) this.#auth = JSON.parse(text);
    }
    return this.#auth;
  }

  get traceparent(): string | undefined {
    return this.#callerFacts?.traceparent;
  }

  get tracestate(): string | undefined {
    return this.#callerFacts?.tracestate;
  }

  get errors(): ErrorMakers<Record<never, never>> {
    return this.#procedure.errors?.make ?? noErrors;
  }

  get broadcast(): Broadcast {
    return this.#host?.broadcast ?? noBroadcast;
  }

  get state(): unknown {
    return this.#procedure.moduleState?.value;
  }

  /** What the context has of the caller. A worker has none of it for a procedure that ignores its context. */
  get #callerFacts(): RequestFacts | undefined {
    const { name, ignoresContext } = this.#procedure;
    if (!ignoresContext) return this.#facts;
    throw new Error(`the context of ${name} was read, which was registered as one that takes none`);
  }

  /** Aborts the signal, now or when the handler first reads it. Only the first reason counts. */
  abort(reason: AbortReason): void {
    const isFirst = this.#abortReason === undefined;
    if (isFirst) {
      this.#abortReason = reason;
      this.#controller?.abort(LazyContext.abortReasonOf(this));
    }
    this.#run?.onAbort(toError(reason), isFirst);
  }
}
