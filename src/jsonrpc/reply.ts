import { ErrorCode, standardErrorText } from './errors.ts';
import { exceedsByLength } from './utf8.ts';

/** How a call ended: its result or its error as finished JSON text, so that nothing is serialised twice. */
export interface Outcome {
  readonly ok: boolean;
  /** The error's code; 0 for a result (a procedure may throw the code 0 too, so `ok` decides). */
  readonly code: number;
  /** JSON of the result, or of the error object. */
  readonly text: string;
  /** The finished reply, where it had to be looked at already. */
  readonly reply?: string;
}

/** A finished reply: JSON text, or UTF-8 bytes where it is large. undefined: nothing is answered. */
export type Reply = string | Uint8Array | undefined;

/** For callers in this process, who want no bytes. */
export function textOfReply(reply: Reply): string | undefined {
  if (typeof reply === 'string' || reply === undefined) return reply;
  return Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString();
}

export function resultOutcome(text: string): Outcome {
  return { ok: true, code: 0, text };
}

export function errorOutcome(code: ErrorCode, data?: unknown): Outcome {
  return { ok: false, code, text: standardErrorText(code, data) };
}

/** Characters that a reply adds around its id and its result or error. */
const envelopeLength = {
  result: '{"jsonrpc":"2.0","id":,"result":}'.length,
  error: '{"jsonrpc":"2.0","id":,"error":}'.length,
} as const;

/**
 * Joins the reply's envelope around an outcome. Member order: jsonrpc, id, then result or error.
 *
 * @param id JSON text of the id, exactly as the request wrote it
 */
export function replyText(id: string, { ok, text, reply }: Outcome): string {
  if (reply !== undefined) return reply;
  return ok ? resultReply(id, text) : `{"jsonrpc":"2.0","id":${id},"error":${text}}`;
}

/** The whole reply of a result: its text stands in front of the last brace. */
export function resultReply(id: string, text: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${text}}`;
}

/** The whole reply of a standard error. */
export function errorReply(id: string, code: ErrorCode, data?: unknown): string {
  return replyText(id, errorOutcome(code, data));
}

/** The reply of `outcome`; where that reply is larger than `maxBytes`, the reply of a -32004. */
export function cappedReply(id: string, outcome: Outcome, maxBytes: number): string {
  return replyText(id, cappedOutcome(id, outcome, maxBytes));
}

/** `outcome` itself; where its reply is larger than `maxBytes`, a -32004. */
export function cappedOutcome(id: string, outcome: Outcome, maxBytes: number): Outcome {
  const envelope = outcome.ok ? envelopeLength.result : envelopeLength.error;
  const length = outcome.text.length + id.length + envelope;
  const exceeds =
    exceedsByLength(length, maxBytes) ?? Buffer.byteLength(replyText(id, outcome)) > maxBytes;
  return exceeds ? errorOutcome(ErrorCode.LimitExceeded, { limit: maxBytes }) : outcome;
}
