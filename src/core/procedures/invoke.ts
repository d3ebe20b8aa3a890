import { clockMs } from '../base/clock.ts';
import { isThenable } from '../base/value-kinds.ts';
import { cappedOutcome, type Outcome, resultOutcome } from '../protocol/reply.ts';
import type { ResultRules } from '../schema/project.ts';
import { keptOutcome, ResultFault, toJson } from '../schema/result.ts';
import type { BatchCall } from './batch-run.ts';
import { runChain } from './chain.ts';
import { type FaultOptions, type FaultReporter, faultOutcome, toErrorOutcome } from './fault.ts';
import { LazyContext } from './lazy-context.ts';
import { assertNothing, type Passed } from './middleware.ts';
import { bindWithBytes, bytesOutcome } from './raw-bytes.ts';
import type { Procedure } from './types.ts';

/** What happens to a result that does not match `returns`: the call fails, the log says so, or nobody looks. */
export type CheckResults = 'refuse' | 'log' | 'off';

export interface InvokeOptions extends FaultOptions {
  readonly checkResults: CheckResults;
  /** Whether a result that is bytes stays bytes: see {@link RawBytes}. */
  readonly keepsBytes?: boolean;
}

/** The outcome of a call that has opened a stream: its reply is up to whoever reads the stream. */
export interface OpenedOutcome extends Outcome {
  readonly source: ValueSource;
}

/** What the values of a stream come from; undefined: the call has opened none. */
export function sourceOf(outcome: Outcome): ValueSource | undefined {
  return (outcome as Partial<OpenedOutcome>).source;
}

const opened: Outcome = resultOutcome('null');

/**
 * Runs a call: validates the params, authorizes, runs middleware, calls the handler and serialises its result. Every
 * call runs through this function, inline and in a worker. It stays synchronous unless the handler, `authorize` or a
 * middleware returns a promise. Never throws, never rejects.
 *
 * @param params as they came: undefined, an object or an array
 * @param bytes of the param that did not come with the others: see {@link RawBytes}
 */
export function invoke(
  procedure: Procedure,
  params: unknown,
  context: LazyContext,
  options: InvokeOptions,
  bytes?: Uint8Array,
): Outcome | Promise<Outcome> {
  try {
    const named =
      bytes === undefined ? procedure.bindParams(params) : bindWithBytes(procedure, params, bytes);
    if (procedure.chain !== undefined) {
      const passed = runChain(procedure, procedure.chain, named, context);
      return passed instanceof Promise
        ? settle(procedure, passed, context, options)
        : finish(procedure, passed.result, context, options);
    }
    if (procedure.authorize !== undefined) {
      const permission: unknown = procedure.authorize(context as never, named as never);
      if (isThenable(permission)) return proceed(procedure, permission, named, context, options);
      assertNothing(permission);
    }
    const result = procedure.handler(named as never, context);
    return isThenable(result)
      ? settle(procedure, result, context, options)
      : finish(procedure, result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options);
  }
}

/**
 * As `invoke`, for a call of a batch procedure that runs together with others, at once. Where nothing but the handler is left
 * to run, the call is given to `add`, and costs no promise.
 *
 * @param onEnd called with the outcome of a call that was given to `add`
 * @returns undefined: the call was given to `add`
 */
export function invokeTogether(
  procedure: Procedure,
  params: unknown,
  context: LazyContext,
  options: InvokeOptions,
  bytes: Uint8Array | undefined,
  add: (call: BatchCall) => void,
  onEnd: (outcome: Outcome) => void,
): Outcome | Promise<Outcome> | undefined {
  const { chain, authorize, name } = procedure;
  if (chain !== undefined) return invoke(procedure, params, context, options, bytes);
  try {
    const named =
      bytes === undefined ? procedure.bindParams(params) : bindWithBytes(procedure, params, bytes);
    if (authorize !== undefined) {
      const permission: unknown = authorize(context as never, named as never);
      if (isThenable(permission)) return proceed(procedure, permission, named, context, options);
      assertNothing(permission);
    }
    const end = (ok: boolean, value: unknown): void =>
      onEnd(ok ? finish(procedure, value, context, options) : toErrorOutcome(value, name, options));
    add({ params: named, context, end });
    return undefined;
  } catch (error) {
    return toErrorOutcome(error, name, options);
  }
}

async function proceed(
  procedure: Procedure,
  permission: PromiseLike<unknown>,
  named: Record<string, unknown>,
  context: LazyContext,
  options: InvokeOptions,
): Promise<Outcome> {
  try {
    assertNothing(await permission);
    // The caller has gone, or was answered at the deadline.
    if (context.signal.aborted) throw context.signal.reason;
    const began = clockMs();
    const given: unknown = procedure.handler(named as never, context);
    context.resumedMs += clockMs() - began;
    const result: unknown = isThenable(given) ? await given : given;
    const turn = LazyContext.hostOf(context)?.resultTurn?.(context);
    if (turn !== undefined) await waitFor(turn, context);
    return finish(procedure, result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options);
  }
}

async function waitFor(turn: Promise<void>, context: LazyContext): Promise<void> {
  await turn;
  // The caller has gone, or was answered at the deadline.
  if (context.signal.aborted) throw context.signal.reason;
}

/** Waits for a chain or a handler with `await`: a `then` of a foreign object may return or throw anything. */
async function settle(
  procedure: Procedure,
  pending: PromiseLike<unknown>,
  context: LazyContext,
  options: InvokeOptions,
): Promise<Outcome> {
  try {
    const settled = await pending;
    const turn = LazyContext.hostOf(context)?.resultTurn?.(context);
    if (turn !== undefined) await waitFor(turn, context);
    const result = procedure.chain === undefined ? settled : (settled as Passed).result;
    return finish(procedure, result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options);
  }
}

function finish(
  procedure: Procedure,
  result: unknown,
  context: LazyContext,
  options: InvokeOptions,
): Outcome {
  const { stream, result: rules } = procedure;
  if (stream !== undefined) return open(procedure, result, options);
  const idText = LazyContext.idTextOf(context);
  const mismatch = 'the result does not match returns';
  if (options.keepsBytes !== true)
    return toOutcome(procedure, rules, mismatch, result, idText, options);
  return bytesOutcome(procedure, result, () =>
    toOutcome(procedure, rules, mismatch, result, idText, options),
  );
}

function open(procedure: Procedure, result: unknown, options: InvokeOptions): Outcome {
  const iterator = iteratorOf(result);
  if (iterator === undefined) {
    return faultOutcome(() => 'the handler of a stream gave no iterator', procedure.name, options);
  }
  const outcome: OpenedOutcome = {
    ...opened,
    source: new ValueSource(iterator, procedure, options),
  };
  return outcome;
}

/** What one `next()` of a stream came to: the JSON text of a value, or how the stream ended. */
export type StreamStep = string | Outcome;

/**
 * The iterator that a handler gave. Nothing here throws or rejects. Who uses it calls `next` only when the step before is
 * there, and neither after the end nor after `close`.
 */
export class ValueSource {
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>;
  readonly #procedure: Procedure;
  readonly #options: InvokeOptions;

  constructor(
    iterator: Iterator<unknown> | AsyncIterator<unknown>,
    procedure: Procedure,
    options: InvokeOptions,
  ) {
    this.#iterator = iterator;
    this.#procedure = procedure;
    this.#options = options;
  }

  /** Synchronous if the iterator is. */
  next(): StreamStep | Promise<StreamStep> {
    try {
      const result: unknown = this.#iterator.next();
      return isThenable(result) ? this.#settle(result) : this.#read(result);
    } catch (error) {
      return toErrorOutcome(error, this.#procedure.name, this.#options);
    }
  }

  /**
   * Tells the iterator that nobody reads any more, so that its `finally` blocks run.
   *
   * @returns a promise if that takes time; a generator that waits runs them when its wait is over
   */
  close(): Promise<void> | undefined {
    try {
      const closed: unknown = this.#iterator.return?.();
      if (!isThenable(closed)) return undefined;
      return Promise.resolve(closed).then(
        () => {},
        () => {},
      );
    } catch {
      return undefined; // nobody is left who could be told
    }
  }

  async #settle(result: PromiseLike<unknown>): Promise<StreamStep> {
    try {
      return this.#read(await result);
    } catch (error) {
      return toErrorOutcome(error, this.#procedure.name, this.#options);
    }
  }

  /** @throws TypeError for what is no result of an iterator */
  #read(result: unknown): StreamStep {
    if (typeof result !== 'object' || result === null) {
      throw new TypeError('next() of the iterator of a stream gave no object');
    }
    const { done, value } = result as { readonly done?: unknown; readonly value?: unknown };
    // Any truthy `done` is the end, as for a loop of JavaScript.
    const { stream, result: rules } = this.#procedure;
    const declared = done ? rules : stream?.value;
    const mismatch = done
      ? 'what it returned does not match returns'
      : 'a value does not match yields';
    const outcome = toOutcome(this.#procedure, declared, mismatch, value, undefined, this.#options);
    return done || !outcome.ok ? outcome : outcome.text;
  }
}

/**
 * The iterator of what a handler returned; undefined: it can't be iterated. A string can, and is no stream: who returns a
 * text means the text.
 */
function iteratorOf(value: unknown): Iterator<unknown> | AsyncIterator<unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { [Symbol.asyncIterator]: waiting, [Symbol.iterator]: plain } = value as {
    [Symbol.asyncIterator]?: unknown;
    [Symbol.iterator]?: unknown;
  };
  const make = typeof waiting === 'function' ? waiting : plain;
  if (typeof make !== 'function') return undefined;
  return make.call(value) as Iterator<unknown> | AsyncIterator<unknown>;
}

/** Never throws. @param idText of the request whose reply the value becomes; undefined: of none */
function toOutcome(
  procedure: Procedure,
  rules: ResultRules | undefined,
  mismatchText: string,
  result: unknown,
  idText: string | undefined,
  options: InvokeOptions,
): Outcome {
  const { name } = procedure;
  try {
    if (rules === undefined) {
      return keptOutcome(result, idText, accessorReporter(procedure, result, options.onFault));
    }
    const projected = rules.project(result);
    if (options.checkResults !== 'off') {
      const mismatch = rules.mismatchOf(projected);
      if (mismatch !== undefined) {
        const detail = `${mismatchText}: ${mismatch}`;
        if (options.checkResults === 'refuse') return faultOutcome(() => detail, name, options);
        reportResult(procedure, 'isSent', detail, options.onFault);
      }
    }
    if (!rules.isOpen) return resultOutcome(toJson(projected));
    return keptOutcome(projected, idText, accessorReporter(procedure, projected, options.onFault));
  } catch (error) {
    if (!(error instanceof ResultFault)) return toErrorOutcome(error, name, options);
    return faultOutcome(() => error.message, name, options);
  }
}

/** Of each procedure, so many results are searched for accessors that JSON leaves out: the search costs more than a small call. */
const searchedResults = 10;
const searched = new WeakMap<Procedure, number>();

/**
 * Reports, once for each procedure, that its results have accessors that their callers do not get; undefined: enough of them
 * were searched.
 */
function accessorReporter(
  procedure: Procedure,
  result: unknown,
  onFault: FaultReporter,
): ((detail: string) => void) | undefined {
  if (typeof result !== 'object') return undefined;
  const before = searched.get(procedure) ?? 0;
  if (before >= searchedResults) return undefined;
  searched.set(procedure, before + 1);
  return (detail) => {
    searched.set(procedure, searchedResults);
    reportResult(procedure, 'isPartlyLost', detail, onFault);
  };
}

/** Between two reports of one procedure, of one kind: a service may send thousands of such results in a second. */
const reportEveryMs = 60_000;
type Reports = WeakMap<Procedure, { reportedAt: number; since: number }>;
const reports = {
  isSent: new WeakMap() as Reports,
  isTooLarge: new WeakMap() as Reports,
  isPartlyLost: new WeakMap() as Reports,
};

/** Reports a result that does not match and is sent, that is too large to be sent, or that JSON keeps a part of. */
function reportResult(
  procedure: Procedure,
  kind: keyof typeof reports,
  detail: string,
  onFault: FaultReporter,
): void {
  const now = clockMs();
  const known = reports[kind].get(procedure);
  if (known !== undefined && now < known.reportedAt + reportEveryMs) {
    known.since++;
    return;
  }
  const before =
    known === undefined || known.since === 0 ? '' : `; so did ${known.since} before it`;
  reports[kind].set(procedure, { reportedAt: now, since: 0 });
  try {
    onFault({ ref: '', method: procedure.name, detail: detail + before, [kind]: true });
  } catch {
    // As for a fault: a log that fails must not cost the caller its reply.
  }
}

/**
 * `outcome` itself; if its reply is larger than `maxBytes`, a -32004. Of a result the log then has the size.
 *
 * @param id JSON text
 */
export function capped(
  procedure: Procedure | undefined,
  id: string,
  outcome: Outcome,
  maxBytes: number,
  onFault: FaultReporter | undefined,
): Outcome {
  const kept = cappedOutcome(id, outcome, maxBytes);
  if (kept !== outcome && outcome.ok && procedure !== undefined && onFault !== undefined) {
    const bytes = outcome.bytes?.byteLength ?? Buffer.byteLength(outcome.text);
    const detail = `the result has ${bytes} bytes; maxReplyBytes allows a reply of ${maxBytes}`;
    reportResult(procedure, 'isTooLarge', detail, onFault);
  }
  return kept;
}
