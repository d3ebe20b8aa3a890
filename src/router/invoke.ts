import { randomUUID } from 'node:crypto';
import { clockMs } from '../base/clock.ts';
import { ProcessExit } from '../base/process-exit.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, resultOutcome } from '../jsonrpc/reply.ts';
import { assertNothing } from './authorize.ts';
import type { InvokeContext } from './context.ts';
import { LazyContext } from './lazy-context.ts';
import type { Passed } from './middleware/passed.ts';
import { runChain } from './middleware/run.ts';
import { ResultFault } from './result-fault.ts';
import { jsonText, keptOutcome, toJson } from './result-text.ts';
import { iteratorOf, type StreamStep, ValueSource } from './stream/value-source.ts';
import { isThenable } from './thenable.ts';
import type { Procedure, ResultRules, StreamRules } from './types.ts';

/** Is called for each -32603. The client sees only `ref`; the log line with the same ref has the stack. */
export type FaultReporter = (fault: Fault) => void;

export interface Fault {
  readonly ref: string;
  readonly method: string;
  /** The stack of what was thrown, or its text where it has no stack. */
  readonly detail: string;
  /** The call of `process.exit` that was made this error, as written; undefined: something else was thrown. */
  readonly exit?: string | undefined;
  /** The result did not match `returns` and was sent all the same: there is no error, and no ref. */
  readonly isSent?: boolean | undefined;
}

/** What happens to a result that does not match `returns`: the call fails, the log says so, or nobody looks. */
export type CheckResults = 'refuse' | 'log' | 'off';

export interface InvokeOptions {
  readonly checkResults: CheckResults;
  readonly onFault: FaultReporter;
}

/** The outcome of a call that has opened a stream: its reply is up to whoever reads the stream. */
export interface OpenedOutcome extends Outcome {
  readonly source: ValueSource;
}

/** What a stream's values come from, where the outcome is that of a call that has opened one. */
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
 */
export function invoke(
  procedure: Procedure,
  params: unknown,
  context: InvokeContext,
  options: InvokeOptions,
): Outcome | Promise<Outcome> {
  try {
    const named = procedure.bindParams(params);
    if (procedure.chain !== undefined) {
      const passed = runChain(procedure, procedure.chain, named, context);
      return passed instanceof Promise
        ? settlePassed(procedure, passed, context, options)
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
    return toErrorOutcome(error, procedure.name, options.onFault);
  }
}

/** The rest of a call whose `authorize` is asynchronous. */
async function proceed(
  procedure: Procedure,
  permission: PromiseLike<unknown>,
  named: Record<string, unknown>,
  context: InvokeContext,
  options: InvokeOptions,
): Promise<Outcome> {
  try {
    assertNothing(await permission);
    // The caller has gone, or was answered at the deadline.
    if (context.signal.aborted) throw context.signal.reason;
    const began = clockMs();
    const result: unknown = procedure.handler(named as never, context);
    context.resumedMs = clockMs() - began;
    return finish(procedure, isThenable(result) ? await result : result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options.onFault);
  }
}

/** The rest of a call whose chain is asynchronous. */
async function settlePassed(
  procedure: Procedure,
  passed: Promise<Passed>,
  context: InvokeContext,
  options: InvokeOptions,
): Promise<Outcome> {
  try {
    return finish(procedure, (await passed).result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options.onFault);
  }
}

/** Waits for the result with `await`: a `then` of a foreign object may return or throw anything. */
async function settle(
  procedure: Procedure,
  result: PromiseLike<unknown>,
  context: InvokeContext,
  options: InvokeOptions,
): Promise<Outcome> {
  try {
    return finish(procedure, await result, context, options);
  } catch (error) {
    return toErrorOutcome(error, procedure.name, options.onFault);
  }
}

/** @throws TypeError for a result that JSON can't hold; whatever a `toJSON` throws */
function finish(
  procedure: Procedure,
  result: unknown,
  context: InvokeContext,
  options: InvokeOptions,
): Outcome {
  const { stream, result: rules } = procedure;
  if (stream !== undefined) return open(procedure, stream, result, options);
  const idText = LazyContext.idTextOf(context);
  return toOutcome(procedure, rules, 'the result does not match returns', result, idText, options);
}

/** A handler gave what the values of a stream come from. */
function open(
  procedure: Procedure,
  { value: rules }: StreamRules,
  result: unknown,
  options: InvokeOptions,
): Outcome {
  const { name } = procedure;
  const iterator = iteratorOf(result);
  if (iterator === undefined) {
    return faultOutcome('the handler of a stream gave no iterator', name, options.onFault);
  }
  const toError = (error: unknown): Outcome => toErrorOutcome(error, name, options.onFault);
  const attempt = (rule: ResultRules | undefined, mismatch: string, value: unknown): Outcome => {
    try {
      return toOutcome(procedure, rule, mismatch, value, undefined, options);
    } catch (error) {
      return toError(error);
    }
  };
  const toStep = (value: unknown): StreamStep => {
    const outcome = attempt(rules, 'a value does not match yields', value);
    return outcome.ok ? outcome.text : outcome;
  };
  const toEnd = (value: unknown): Outcome =>
    attempt(procedure.result, 'what it returned does not match returns', value);
  const outcome: OpenedOutcome = {
    ...opened,
    source: new ValueSource(iterator, { toStep, toEnd, toError }),
  };
  return outcome;
}

/**
 * @param idText of the request whose reply the value becomes; undefined: of none
 * @throws TypeError for a value that JSON can't hold; whatever a `toJSON` throws
 */
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
    if (rules === undefined) return keptOutcome(result, idText);
    const projected = rules.project(result);
    if (options.checkResults !== 'off') {
      const mismatch = rules.mismatchOf(projected);
      if (mismatch !== undefined) {
        const detail = `${mismatchText}: ${mismatch}`;
        if (options.checkResults === 'refuse') return faultOutcome(detail, name, options.onFault);
        reportMismatch(procedure, detail, options.onFault);
      }
    }
    return rules.isOpen ? keptOutcome(projected, idText) : resultOutcome(toJson(projected));
  } catch (error) {
    if (!(error instanceof ResultFault)) throw error;
    return faultOutcome(error.message, name, options.onFault);
  }
}

/** Between two reports of one procedure whose results do not match. */
const mismatchEveryMs = 60_000;
const mismatches = new WeakMap<Procedure, { reportedAt: number; since: number }>();

/** Reports a result that is sent though it does not match: a service may send thousands in a second. */
function reportMismatch(procedure: Procedure, detail: string, onFault: FaultReporter): void {
  const now = clockMs();
  const known = mismatches.get(procedure);
  if (known !== undefined && now < known.reportedAt + mismatchEveryMs) {
    known.since++;
    return;
  }
  const before =
    known === undefined || known.since === 0 ? '' : `; so did ${known.since} before it`;
  mismatches.set(procedure, { reportedAt: now, since: 0 });
  try {
    onFault({ ref: '', method: procedure.name, detail: detail + before, isSent: true });
  } catch {
    // As for a fault: a log that fails must not cost the caller its reply.
  }
}

/** Turns anything that was thrown into an error outcome. Never throws. */
export function toErrorOutcome(error: unknown, method: string, onFault: FaultReporter): Outcome {
  const rpcError = toRpcError(error);
  if (rpcError !== undefined) {
    try {
      return rpcErrorOutcome(rpcError);
    } catch (cause) {
      const detail = `an RpcError that JSON cannot hold: ${describe(cause)}`;
      return faultOutcome(detail, method, onFault);
    }
  }
  const exit = ProcessExit.is(error) ? error.call : undefined;
  return faultOutcome(describe(error), method, onFault, exit);
}

/** The thrown RpcError, or the RpcError that aborted the signal and is the cause of an API's AbortError. */
function toRpcError(error: unknown): RpcError | undefined {
  if (RpcError.is(error)) return error;
  try {
    const { name, cause } = error as Error;
    return name === 'AbortError' && RpcError.is(cause) ? cause : undefined;
  } catch {
    return undefined; // null, or an object that throws while it is read
  }
}

function rpcErrorOutcome(error: RpcError): Outcome {
  const { code, message, data } = error;
  // Checked again, since the code goes into the text as it is: another copy of the package may have made the error.
  if (!Number.isSafeInteger(code)) throw new TypeError('its code is not an integer');
  const head = `{"code":${code},"message":${JSON.stringify(String(message))}`;
  const text = data === undefined ? `${head}}` : `${head},"data":${jsonText(data, 'its data')}}`;
  return { ok: false, code, text };
}

function faultOutcome(
  detail: string,
  method: string,
  onFault: FaultReporter,
  exit?: string,
): Outcome {
  const ref = randomUUID().slice(0, 13);
  try {
    onFault({ ref, method, detail, exit });
  } catch {
    // A log that fails must not cost the caller its reply.
  }
  return errorOutcome(ErrorCode.InternalError, { ref });
}

const maxDetail = 10_000;
const maxCauses = 5;

/** Describes anything that can be thrown, for the log. Never throws, even where a getter of the object does. */
export function describe(error: unknown): string {
  try {
    const text =
      error instanceof Error ? withCauses(error) : `thrown, and no Error: ${shown(error)}`;
    return text.length > maxDetail ? `${text.slice(0, maxDetail)}…` : text;
  } catch {
    return 'thrown, and it cannot be described: reading it throws';
  }
}

function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | symbol);
}

/** The stacks of an error and of its causes. Only the first few: two errors can be each other's cause. */
function withCauses(error: Error): string {
  const texts: string[] = [];
  let next: unknown = error;
  while (next instanceof Error && texts.length <= maxCauses) {
    texts.push(String(next.stack ?? next));
    next = next.cause;
  }
  return texts.join('\ncaused by: ');
}
