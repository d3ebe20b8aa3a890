import { type Outcome, resultOutcome, resultReply } from '../jsonrpc/reply.ts';
import { assertKept } from './result-fault.ts';

/**
 * The outcome of a value of which nothing is declared. Its text is searched, for which V8 copies the pieces that
 * JSON.stringify has made into one. So the reply is joined first: it has to be in one piece sooner or later.
 *
 * @param id JSON text of the request's id, undefined for a notification
 * @throws ResultFault for a part of which JSON keeps nothing; TypeError for one that JSON can't hold
 */
export function keptOutcome(value: unknown, id: string | undefined): Outcome {
  const text = toJson(value);
  if (typeof value !== 'object' || value === null) return resultOutcome(text);
  if (id === undefined) {
    assertKept(value, text, 0);
    return resultOutcome(text);
  }
  const reply = resultReply(id, text);
  assertKept(value, reply, reply.length - text.length - 1);
  return { ok: true, code: 0, text, reply };
}

/** A procedure that returns nothing answers null. */
export function toJson(result: unknown): string {
  return result === undefined ? 'null' : jsonText(result, 'the result');
}

/** @throws TypeError for a value that JSON cannot hold, where JSON.stringify would write null or nothing */
export function jsonText(value: unknown, what: string): string {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return String(value);
    throw new TypeError(`${what} is ${value}, which JSON cannot hold`);
  }
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) {
    const kind =
      typeof value === 'object' ? 'an object whose toJSON gives nothing' : `a ${typeof value}`;
    throw new TypeError(`${what} is ${kind}, which JSON cannot hold`);
  }
  return text;
}
