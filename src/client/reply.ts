import { RpcError, type RpcTransportError } from './errors.ts';
import type { Outcome } from './outcome.ts';

/** A request as it was sent. */
export interface Sent {
  /** Undefined: a notification. */
  readonly id: number | undefined;
  readonly method: string;
}

const accepted: Outcome = { ok: true, result: undefined };

/**
 * Assigns the replies in a response to the requests. Where one reply is too many, has a wrong id or a wrong shape, the
 * whole response is refused: it is then doubtful which requests the other replies belong to.
 *
 * @param text the response's body
 * @param refuse makes the error of requests without a reply
 * @returns an outcome for each request, in the order of the requests; the outcome of a notification has no result
 */
export function readReplies(
  sent: readonly Sent[],
  text: string,
  refuse: (why: string) => RpcTransportError,
): Outcome[] {
  const refuseAll = (why: string): Outcome[] => {
    const error = refuse(why);
    return sent.map(() => ({ ok: false, error }));
  };
  let body: unknown = [];
  try {
    if (text !== '') body = JSON.parse(text);
  } catch {
    return refuseAll('the response is not JSON');
  }
  // One error with the id null: the server could not, or would not, read the request. It answers all of its calls.
  if (idOf(body) === null) {
    const outcomes = sent.map(({ method }) => readOutcome(body, method));
    if (outcomes.every((outcome) => outcome?.ok === false)) return outcomes as Outcome[];
  }
  const replies = sent.length > 1 || text === '' ? body : [body];
  if (!Array.isArray(replies)) return refuseAll('the reply to a batch is not an array');

  const open = new Map(sent.map(({ id, method }) => [id, method]));
  open.delete(undefined);
  const outcomes = new Map<unknown, Outcome>();
  for (const reply of replies) {
    const id = idOf(reply) as number | undefined;
    const method = open.get(id);
    if (method === undefined) {
      const shown = JSON.stringify(id)?.slice(0, 40) ?? 'missing';
      return refuseAll(`a reply has an id that no request waits for (${shown})`);
    }
    open.delete(id);
    const outcome = readOutcome(reply, method);
    if (outcome === undefined) {
      return refuseAll('a reply has neither a result nor an error, both, or a malformed error');
    }
    outcomes.set(id, outcome);
  }
  return sent.map(({ id }) => {
    if (id === undefined) return accepted;
    return outcomes.get(id) ?? { ok: false, error: refuse(`there is no reply with id ${id}`) };
  });
}

function idOf(reply: unknown): unknown {
  return (reply as { id?: unknown } | null)?.id;
}

function readOutcome(reply: unknown, method: string): Outcome | undefined {
  const { result, error } = reply as { result?: unknown; error?: Partial<RpcError> | null };
  if ((result === undefined) === (error === undefined)) return undefined;
  if (error === undefined) return { ok: true, result };
  if (!Number.isInteger(error?.code) || typeof error?.message !== 'string') return undefined;
  const { code, message, data } = error as RpcError;
  return { ok: false, error: new RpcError(code, message, data, method) };
}
