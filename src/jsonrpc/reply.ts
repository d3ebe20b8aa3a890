import { ErrorCode, standardErrorText } from './errors.ts';

/** What a procedure call came to, as finished JSON text, so that nothing is serialised twice. */
export interface Outcome {
  readonly ok: boolean;
  /** The error's code; 0 for a result (a procedure may throw the code 0 too, so `ok` decides). */
  readonly code: number;
  /** JSON of the result, or of the error object. */
  readonly text: string;
}

/** A finished reply as JSON text or as its UTF-8 bytes (large ones); undefined: nothing to answer. */
export type Reply = string | Uint8Array | undefined;

export function resultOutcome(text: string): Outcome {
  return { ok: true, code: 0, text };
}

export function errorOutcome(code: ErrorCode, data?: unknown): Outcome {
  return { ok: false, code, text: standardErrorText(code, data) };
}

/** Characters of a reply around its id and its result or error, at most. */
const envelopeLength = '{"jsonrpc":"2.0","id":,"result":}'.length;

/**
 * Joins the reply's envelope around an outcome. Member order: jsonrpc, id, then result or error.
 *
 * @param id JSON text of the id, exactly as the request wrote it
 */
export function replyText(id: string, outcome: Outcome): string {
  return outcome.ok
    ? `{"jsonrpc":"2.0","id":${id},"result":${outcome.text}}`
    : `{"jsonrpc":"2.0","id":${id},"error":${outcome.text}}`;
}

/** A standard error's whole reply. */
export function errorReply(id: string, code: ErrorCode, data?: unknown): string {
  return replyText(id, errorOutcome(code, data));
}

/** The reply of `outcome`, or a -32004 in its place when it is larger than `maxBytes`. */
export function cappedReply(id: string, outcome: Outcome, maxBytes: number): string {
  return replyText(id, cappedOutcome(id, outcome, maxBytes));
}

/** The outcome, or a -32004 in its place where its reply is larger than `maxBytes`. */
export function cappedOutcome(id: string, outcome: Outcome, maxBytes: number): Outcome {
  const { length } = outcome.text;
  // A UTF-16 unit is at most three UTF-8 bytes: most replies are decided without counting.
  if ((length + id.length + envelopeLength) * 3 <= maxBytes) return outcome;
  return length > maxBytes || Buffer.byteLength(replyText(id, outcome)) > maxBytes
    ? errorOutcome(ErrorCode.LimitExceeded, { limit: maxBytes })
    : outcome;
}
