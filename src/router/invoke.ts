import { clockMs } from '../base/clock.ts';
import { type Outcome, resultOutcome } from '../jsonrpc/reply.ts';
import { assertNothing } from './authorize.ts';
import type { InvokeContext } from './context.ts';
import { type FaultReporter, faultOutcome, toErrorOutcome } from './fault.ts';
import { LazyContext } from './lazy-context.ts';
import type { Passed } from './middleware/passed.ts';
import { runChain } from './middleware/run.ts';
import { ResultFault } from './result-fault.ts';
import { keptOutcome, toJson } from './result-text.ts';
import { iteratorOf, type StreamStep, ValueSource } from './stream/value-source.ts';
import { isThenable } from './thenable.ts';
import type { Procedure, ResultRules, StreamRules } from './types.ts';

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
