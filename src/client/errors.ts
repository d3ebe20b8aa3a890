/**
 * The server's error reply to a call, or the deadline passing here first (-32001).
 *
 * It is not the RpcError of the server: a handler that lets one of another service's errors through
 * would say of its own call what was true of that one, "overloaded, it never ran" for instance.
 */
export class RpcError<Code extends number = number, Data = unknown> extends Error {
  override readonly name = 'RpcError';
  readonly code: Code;
  /** Undefined where the reply has none. */
  readonly data: Data;
  /** The procedure that was called. */
  readonly method: string;

  constructor(code: Code, message: string, data: Data, method: string) {
    super(message);
    this.code = code;
    this.data = data;
    this.method = method;
  }
}

/** What is known of an exchange that gave no reply. */
export interface TransportFacts {
  readonly url: string;
  /** The HTTP status; undefined where no response came. */
  readonly status?: number | undefined;
  readonly contentType?: string | undefined;
  /** Of the body, the first 200 characters. */
  readonly body?: string | undefined;
  /** What fetch or reading the body threw. */
  readonly cause?: unknown;
}

const shownLength = 200;

/** No reply that could be this call's: no connection, an answer that is no JSON-RPC, ids that are wrong. */
export class RpcTransportError extends Error implements TransportFacts {
  override readonly name = 'RpcTransportError';
  readonly url: string;
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly body: string | undefined;

  /** @param why continues "POST <url>: " */
  constructor(why: string, { url, status, contentType, body, cause }: TransportFacts) {
    const start = body?.slice(0, shownLength);
    const answer =
      status === undefined ? '' : ` (${status} ${contentType ?? 'without content-type'})`;
    const shown = start ? `: ${JSON.stringify(start)}` : '';
    super(`POST ${url}${answer}: ${why}${shown}`, cause === undefined ? {} : { cause });
    this.url = url;
    this.status = status;
    this.contentType = contentType;
    this.body = start;
  }
}

/** An error of `Union` that has this code; where none is declared with it, one with data of any type. */
export type WithCode<Union, Code extends number> = [Extract<Union, RpcError<Code>>] extends [never]
  ? RpcError<Code>
  : Extract<Union, RpcError<Code>>;

/** True for an RpcError with this code: a declared one then has its own type of data. */
export function hasCode<Union, const Code extends number>(
  error: Union,
  code: Code,
): error is Union & WithCode<Union, Code> {
  return error instanceof RpcError && error.code === code;
}
