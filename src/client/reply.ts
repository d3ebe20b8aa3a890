import { RpcError, RpcTransportError } from './errors.ts';
import type { Outcome } from './outcome.ts';
import type { Answer, Sent } from './request.ts';

/**
 * Assigns the replies in a response to the requests. Where one reply is too many, has a wrong id or a wrong shape, the
 * whole response is refused: it is then doubtful which requests the other replies belong to.
 *
 * @throws RpcTransportError where none of it can be trusted
 * @returns an outcome for each request, in the order of the requests; the outcome of a notification has no result
 */
export function readReplies(sent: readonly Sent[], { reply, facts }: Answer): Outcome[] {
  const refuse = (why: string): RpcTransportError => new RpcTransportError(why, facts);
  let body: unknown = [];
  try {
    if (reply !== '') body = typeof reply === 'string' ? JSON.parse(reply) : reply;
  } catch {
    throw refuse('the response is not JSON');
  }
  // One error with the id null: the server could not, or would not, read the request. It answers all of its calls.
  if (idOf(body) === null) {
    const outcomes = sent.map(({ method }) => readOutcome(body, method));
    if (outcomes.every((outcome) => outcome?.ok === false)) return outcomes as Outcome[];
  }
  const replies = sent.length > 1 || reply === '' ? body : [body];
  if (!Array.isArray(replies)) throw refuse('the reply is not an array');

  // The method of each request, and then its outcome.
  const slots = new Map<unknown, string | Outcome>(sent.map(({ id, method }) => [id, method]));
  slots.set(undefined, { ok: true, result: undefined });
  for (const one of replies) {
    const id = idOf(one);
    const method = slots.get(id);
    if (typeof method !== 'string') {
      throw refuse(`a reply has an unknown id: ${JSON.stringify(id)}`.slice(0, 70));
    }
    const outcome = readOutcome(one, method);
    if (outcome === undefined) throw refuse('a reply is malformed');
    slots.set(id, outcome);
  }
  return sent.map(({ id }) => {
    const slot = slots.get(id);
    return typeof slot === 'object'
      ? slot
      : { ok: false, error: refuse(`there is no reply with id ${id}`) };
  });
}

function idOf(reply: unknown): unknown {
  return (reply as { id?: unknown } | null)?.id;
}

function readOutcome(reply: unknown, method: string): Outcome | undefined {
  const { result, error } = reply as { result?: unknown; error?: unknown };
  if ((result === undefined) === (error === undefined)) return undefined;
  if (error === undefined) return { ok: true, result };
  const { code, message, data } = (error ?? {}) as RpcError;
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { ok: false, error: new RpcError(code, message, data, method) };
}

/** The result of a request of one call. @throws its error */
export function resultOf([outcome]: readonly Outcome[]): unknown {
  if (outcome?.ok) return outcome.result;
  throw outcome?.error;
}
