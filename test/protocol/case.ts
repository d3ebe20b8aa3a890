/** One request body and the exact reply that docs/protocol.md gives it. */
export interface Case {
  readonly name: string;
  readonly body: string | Uint8Array;
  /** undefined: nothing is answered. */
  readonly reply: string | undefined;
  /** Why a parsed payload can't express it: `handleRequest` and `dispatch` pass it over. */
  readonly onlyAsText?: string;
  /** It is about megabytes of reply, whichever way its small body goes in: one way of each subject is asked. */
  readonly isLarge?: true;
}

export const notJson = 'no payload comes of a body that is not JSON';
export const spelling = 'a parsed payload no longer shows how the text was written';
export const wireLimit = 'a limit of the text: whoever parsed the payload has set their own';

export function result(id: string, value: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${value}}`;
}

export function error(id: string, code: number, message: string, data?: string): string {
  const text = JSON.stringify(message);
  const rest = data === undefined ? '' : `,"data":${data}`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${text}${rest}}}`;
}

export const parseError = error('null', -32700, 'Parse error');

/** A -32600 with the id of a request that has a valid one. */
export function invalid(id = 'null'): string {
  return error(id, -32600, 'Invalid Request');
}

/** Of params that are no object and no array. */
export function wrongParams(id = 'null'): string {
  return error(id, -32600, 'Invalid Request', '{"reason":"params must be an object or an array"}');
}

export function notFound(id: string, method: string, didYouMean?: string): string {
  const hint = didYouMean === undefined ? '' : `,"didYouMean":${JSON.stringify(didYouMean)}`;
  return error(id, -32601, 'Method not found', `{"method":${JSON.stringify(method)}${hint}}`);
}

/** The protocol says nothing of a refusal's wording: `message` is any text. */
export interface Issue {
  readonly path: string;
  readonly expected: string;
  readonly received: string;
}

export function refused(id: string, ...issues: readonly Issue[]): string {
  const data = issues.map(
    ({ path, expected, received }) =>
      `{"path":"${path}","message":"(any)","expected":${JSON.stringify(expected)},"received":"${received}"}`,
  );
  return error(id, -32602, 'Invalid params', `[${data.join(',')}]`);
}

export function internal(id: string): string {
  return error(id, -32603, 'Internal error', '{"ref":"(any)"}');
}

export function tooLarge(id: string, limit: number): string {
  return error(id, -32004, 'Limit exceeded', `{"limit":${limit}}`);
}

/** A reply with what differs from call to call replaced, where it has the form it must have. */
export function settled(reply: string): string {
  return reply
    .replace(/"data":\{"ref":"[0-9a-zA-Z-]{8,40}"\}/g, '"data":{"ref":"(any)"}')
    .replace(/(\{"path":"[^"]*","message":)"(?:[^"\\]|\\.)+"(,"expected":)/g, '$1"(any)"$2');
}
