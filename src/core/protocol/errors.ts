/** The error codes this service answers with (docs/protocol.md, "Errors"). */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  Overloaded: -32000,
  DeadlineExceeded: -32001,
  WorkerLost: -32002,
  Cancelled: -32003,
  LimitExceeded: -32004,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

const messages: Readonly<Record<ErrorCode, string>> = {
  [ErrorCode.ParseError]: 'Parse error',
  [ErrorCode.InvalidRequest]: 'Invalid Request',
  [ErrorCode.MethodNotFound]: 'Method not found',
  [ErrorCode.InvalidParams]: 'Invalid params',
  [ErrorCode.InternalError]: 'Internal error',
  [ErrorCode.Overloaded]: 'Server overloaded',
  [ErrorCode.DeadlineExceeded]: 'Deadline exceeded',
  [ErrorCode.WorkerLost]: 'Worker lost',
  [ErrorCode.Cancelled]: 'Cancelled',
  [ErrorCode.LimitExceeded]: 'Limit exceeded',
};

/** The errors after which a client may send a call again: only if their data say `retry: true`. */
export const repeatedCodes: ReadonlySet<number> = new Set([
  ErrorCode.Overloaded,
  ErrorCode.WorkerLost,
  ErrorCode.Cancelled,
]);

/** Why what ran a call was lost: the `data.reason` of a -32002. The last two are of calls on other machines. */
export type LossReason =
  | 'exit'
  | 'memory'
  | 'error'
  | 'neighbour'
  | 'shutdown'
  | 'member'
  | 'connection';

/**
 * Why a request was refused: the `data.reason` of a -32000. The first three are limits of the caller's own; the others are
 * limits of the service.
 */
export type OverloadReason =
  | 'rate'
  | 'in-flight-per-caller'
  | 'share'
  | 'in-flight'
  | 'queue'
  | 'queue-time'
  | 'streams'
  | 'connection'
  | 'body-memory'
  | 'reply-memory'
  | 'orphans';

/**
 * Marks every RpcError, whichever copy of this package made it. A procedure module may have resolved a second
 * copy (a global command line, a local dependency); its errors are recognised all the same.
 */
const brand = Symbol.for('tandem-rpc.RpcError');

/**
 * An error that reaches the client with its code, message and data, whether it is thrown inline or in a worker.
 *
 * @param code any integer; -32768 to -32000 are reserved by JSON-RPC 2.0
 * @param message one short sentence
 * @param data any JSON value; left out of the reply when undefined
 * @throws TypeError when `code` is not an integer
 */
export class RpcError extends Error {
  override readonly name: string = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    if (!Number.isSafeInteger(code)) {
      throw new TypeError(`RpcError: the code must be an integer, got ${String(code)}`);
    }
    this.code = code;
    this.data = data;
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for an RpcError of this or of another copy of the package. Never throws. */
  static is(value: unknown): value is RpcError {
    try {
      if (value instanceof RpcError) return true;
      return value instanceof Error && (value as { [brand]?: unknown })[brand] === true;
    } catch {
      return false; // a proxy or a getter that throws
    }
  }
}

/** An RpcError with the standard message of `code`. */
export function standardError(code: ErrorCode, data?: unknown): RpcError {
  return new RpcError(code, messages[code], data);
}

/** The JSON text of a standard error object. `data` must be a JSON value. */
export function standardErrorText(code: ErrorCode, data?: unknown): string {
  const head = `{"code":${code},"message":"${messages[code]}"`;
  return data === undefined ? `${head}}` : `${head},"data":${JSON.stringify(data)}}`;
}
