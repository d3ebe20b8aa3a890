import { randomUUID } from 'node:crypto';
import { stackOf, textAbout } from '../base/message-of.ts';
import { shortened } from '../base/text.ts';
import { ProcessExit } from '../base/thread-role.ts';
import { isObject } from '../base/value-kinds.ts';
import { ErrorCode, RpcError, repeatedCodes } from '../protocol/errors.ts';
import { errorOutcome, type Outcome } from '../protocol/reply.ts';
import { jsonText } from '../schema/result.ts';

/** Is called for each -32603. The client sees only `ref`; the log line with the same ref has the stack. */
export type FaultReporter = (fault: Fault) => void;

export interface FaultOptions {
  readonly onFault: FaultReporter;
  /** The caller is a developer on this machine, and sees the message too: see `RequestScope.showsFaults`. */
  readonly showsFaults?: boolean | undefined;
  /** What was thrown refuses a request of which nothing has run. */
  readonly isUnrun?: boolean;
}

export interface Fault {
  readonly ref: string;
  readonly method: string;
  /** The stack of what was thrown, or its text if it has no stack. A getter: it is formatted only if it is read. */
  readonly detail: string;
  /** Calls that the fault has ended, if they ran together: it is told once for all of them. */
  readonly calls?: number | undefined;
  /** The call of `process.exit` that was made this error, as written; undefined: something else was thrown. */
  readonly exit?: string | undefined;
  /** The result did not match `returns` and was sent all the same: there is no error, and no ref. */
  readonly isSent?: boolean | undefined;
  /** This stands for so many faults of the procedure, of which a worker tells no more: there is no ref, and no detail. */
  readonly count?: number | undefined;
  /** The reply would be larger than `maxReplyBytes`: the call is a -32004, and there is no ref. */
  readonly isTooLarge?: boolean | undefined;
  /** The result has accessors that JSON leaves out, and was sent without them: there is no ref. */
  readonly isPartlyLost?: boolean | undefined;
}

/** Turns anything that was thrown into an error outcome. Never throws. */
export function toErrorOutcome(error: unknown, method: string, options: FaultOptions): Outcome {
  if (BatchFault.is(error)) return error.outcome(method, options);
  const rpcError = toRpcError(error);
  if (rpcError !== undefined) {
    try {
      return rpcErrorOutcome(rpcError, options.isUnrun === true);
    } catch (cause) {
      const detail = () => `an RpcError that JSON cannot hold: ${describe(cause)}`;
      return faultOutcome(detail, method, options);
    }
  }
  const exit = ProcessExit.is(error) ? error.call : undefined;
  return faultOutcome(() => describe(error), method, options, { error, exit });
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

function rpcErrorOutcome(error: RpcError, isUnrun: boolean): Outcome {
  const { code, message } = error;
  // Checked again, since the code goes into the text as it is: another copy of the package may have made the error.
  if (!Number.isSafeInteger(code)) throw new TypeError('its code is not an integer');
  const head = `{"code":${code},"message":${JSON.stringify(String(message))}`;
  const data = dataText(error, isUnrun);
  const text = data === undefined ? `${head}}` : `${head},"data":${data}}`;
  return { ok: false, code, text };
}

/** `retry: true` makes a client send a call again. So only what has not run may say that, whatever a handler throws. */
function dataText({ code, data }: RpcError, isUnrun: boolean): string | undefined {
  const text = data === undefined ? undefined : jsonText(data, 'its data');
  if (!repeatedCodes.has(code) || !(isUnrun || text?.includes('"retry"'))) return text;
  const kept: unknown = JSON.parse(text ?? '{}');
  if (!isObject(kept)) return text;
  if (isUnrun) kept.retry = true;
  else delete kept.retry;
  return JSON.stringify(kept);
}

/**
 * -32603 for the client, and the detail for the log. Never throws.
 *
 * @param thrown if something was: its message is what a developer sees, instead of the detail
 */
export function faultOutcome(
  detail: () => string,
  method: string,
  { onFault, showsFaults }: FaultOptions,
  thrown?: { readonly error: unknown; readonly exit: string | undefined },
): Outcome {
  const ref = makeRef();
  report({ ref, method, exit: thrown?.exit }, detail, onFault);
  if (showsFaults !== true) return errorOutcome(ErrorCode.InternalError, { ref });
  const message = thrown === undefined ? detail() : shortly(thrown.error);
  return errorOutcome(ErrorCode.InternalError, { ref, message: message.slice(0, maxMessage) });
}

function makeRef(): string {
  return randomUUID().slice(0, 13);
}

function report(facts: Omit<Fault, 'detail'>, detail: () => string, onFault: FaultReporter): void {
  try {
    onFault({
      ...facts,
      get detail() {
        return detail();
      },
    });
  } catch {
    // A log that fails must not cost the caller its reply.
  }
}

/**
 * What ends all calls of a batch: its handler threw, or gave no result for each. All of them have one reference, and the
 * first that ends with it writes the line. What was thrown is the cause, whose code no caller sees: it may be of one call.
 */
export class BatchFault extends Error {
  readonly #ref = makeRef();
  readonly #calls: number;
  readonly #isThrown: boolean;
  #isReported = false;

  /** @param thrown undefined: nothing was, and the message says what is wrong */
  constructor(message: string, calls: number, thrown?: { readonly error: unknown }) {
    super(message, thrown && { cause: thrown.error });
    this.#calls = calls;
    this.#isThrown = thrown !== undefined;
  }

  /** Reads nothing of the value, which may be a proxy that throws. */
  static is(value: unknown): value is BatchFault {
    return typeof value === 'object' && value !== null && #ref in value;
  }

  outcome(method: string, { onFault, showsFaults }: FaultOptions): Outcome {
    const ref = this.#ref;
    const { cause, message } = this;
    if (!this.#isReported) {
      this.#isReported = true;
      const exit = ProcessExit.is(cause) ? cause.call : undefined;
      const detail = (): string => (this.#isThrown ? describe(cause) : message);
      report({ ref, method, exit, calls: this.#calls }, detail, onFault);
    }
    if (showsFaults !== true) return errorOutcome(ErrorCode.InternalError, { ref });
    const text = this.#isThrown ? shortly(cause) : message;
    return errorOutcome(ErrorCode.InternalError, { ref, message: text.slice(0, maxMessage) });
  }
}

/** The message of anything that can be thrown. Never throws. */
export function shortly(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : describe(error);
  } catch {
    return describe(error);
  }
}

const maxMessage = 1000;
const maxDetail = 10_000;

/** Describes anything that can be thrown, for the log. Never throws, even if a getter of the object does. */
export function describe(error: unknown): string {
  return textAbout(() => {
    if (error instanceof Error) return shortened(stackOf(error), maxDetail);
    const text =
      typeof error === 'object' ? JSON.stringify(error) : String(error as string | symbol);
    return shortened(`thrown, and no Error: ${text}`, maxDetail);
  });
}
