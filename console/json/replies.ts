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
