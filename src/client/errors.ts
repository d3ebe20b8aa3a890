/**
 * The error that the server answered a call with, or -32001 where the deadline passed in the client first.
 *
 * The server's RpcError is another class. A handler that calls another service and lets its error through must not
 * answer with it: "overloaded, the call never ran" was true of the other call, not of the handler's own.
 */
export class RpcError<Code extends number = number, Data = unknown> extends Error {
  override readonly name = 'RpcError';
  declare readonly code: Code;
  /** Undefined where the reply has none. */
  declare readonly data: Data;
  /** The procedure that was called. */
  declare readonly method: string;

  constructor(code: Code, message: string, data: Data, method: string) {
    super(message);
    this.code = code;
    this.data = data;
    this.method = method;
  }
}

/** What the client knows of a request that got no valid reply. */
export interface TransportFacts {
  readonly url: string;
  /** The HTTP status; undefined where no response came. */
  readonly status?: number | undefined;
  readonly contentType?: string | undefined;
  /** The first 200 characters of the body. */
  readonly body?: string | undefined;
  /** What fetch or reading the body threw. */
  readonly cause?: unknown;
}

/** The call got no valid reply: no connection, a response that is not JSON-RPC, wrong ids. */
export class RpcTransportError extends Error implements TransportFacts {
  override readonly name = 'RpcTransportError';
  declare readonly url: string;
  declare readonly status: number | undefined;
  declare readonly contentType: string | undefined;
  declare readonly body: string | undefined;

  /** @param why continues `<url>: ` */
  constructor(why: string, { cause, ...facts }: TransportFacts) {
    const { url, status, contentType = 'no content-type' } = facts;
    const body = facts.body?.slice(0, 200);
    const answer = status === undefined ? '' : ` (${status} ${contentType})`;
    const shown = body ? `: ${JSON.stringify(body)}` : '';
    super(`${url}${answer}: ${why}${shown}`, cause === undefined ? cause : { cause });
    Object.assign(this, facts, { body });
  }
}

/** The errors of `Union` with this code; where none is declared, an RpcError with data of any type. */
export type WithCode<Union, Code extends number> = [Extract<Union, RpcError<Code>>] extends [never]
  ? RpcError<Code>
  : Extract<Union, RpcError<Code>>;

/** True for an RpcError with this code. Narrows a declared error to the type of its data. */
export function hasCode<Union, const Code extends number>(
  error: Union,
  code: Code,
): error is Union & WithCode<Union, Code> {
  return error instanceof RpcError && error.code === code;
}
