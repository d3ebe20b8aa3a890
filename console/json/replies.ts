import { itemsOf, membersOf } from './raw.ts';

/** A reply of JSON-RPC. Its values are JSON texts, as they came. */
export interface Reply {
  readonly id: string;
  /** `null` where there is neither a result nor an error. */
  readonly result: string;
  readonly error: ReplyError | undefined;
}

export interface ReplyError {
  readonly code: number;
  readonly message: string;
  readonly data: string | undefined;
}

/** The replies of a body; undefined: it is no JSON-RPC. */
export function repliesIn(text: string): readonly Reply[] | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const replies = (itemsOf(text) ?? [text]).map(toReply);
  return replies.every((reply) => reply !== undefined) ? replies : undefined;
}

/** What is wrong with a param. */
export interface Fault {
  /** JSON Pointer. */
  readonly path: string;
  readonly message: string;
}

const invalidParams = -32602;

/** What the server finds wrong with the params of the call that a body answers. */
export function faultsIn(text: string): readonly Fault[] {
  const error = repliesIn(text)?.[0]?.error;
  if (error?.code !== invalidParams || error.data === undefined) return [];
  return (itemsOf(error.data) ?? []).flatMap((item) => {
    const { path, message } = (JSON.parse(item) ?? {}) as { path?: unknown; message?: unknown };
    return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : [];
  });
}

/** The methods of the calls in a body, by the text of their id. */
export function methodsIn(body: string): ReadonlyMap<string, string> {
  const methods = new Map<string, string>();
  for (const request of itemsOf(body) ?? []) {
    const members = membersOf(request);
    const [id, method] = [members?.get('id'), members?.get('method')];
    if (id !== undefined && method !== undefined) methods.set(id, stringOf(method));
  }
  return methods;
}

function toReply(text: string): Reply | undefined {
  const members = membersOf(text);
  if (members === undefined) return undefined;
  const error = membersOf(members.get('error') ?? '');
  return {
    id: members.get('id') ?? 'null',
    result: members.get('result') ?? 'null',
    error: error && {
      code: Number(error.get('code')),
      message: stringOf(error.get('message')),
      data: error.get('data'),
    },
  };
}

function stringOf(text: string | undefined): string {
  const value: unknown = text === undefined ? '' : JSON.parse(text);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
