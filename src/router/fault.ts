import { randomUUID } from 'node:crypto';
import { ProcessExit } from '../base/process-exit.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../jsonrpc/reply.ts';
import { jsonText } from './result-text.ts';

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

/** -32603 for the client, and the detail for the log. Never throws. */
export function faultOutcome(
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
