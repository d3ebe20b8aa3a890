import { ErrorCode, standardErrorText } from './errors.ts';

/** Bytes in memory of their own: `Uint8Array<ArrayBuffer>`, spelt so that TypeScript before 5.7 can read the declarations. */
export type ReplyBytes = ReturnType<Uint8ArrayConstructor['of']>;

/** How a call ended: its result or its error as finished JSON text, so that nothing is serialised twice. */
export interface Outcome {
  readonly ok: boolean;
  /** The error's code; 0 for a result (a procedure may throw the code 0 too, so `ok` decides). */
  readonly code: number;
  /** JSON of the result, or of the error object. */
  readonly text: string;
  /** The finished reply, where it had to be looked at already. */
  readonly reply?: string;
  /** The finished reply in UTF-8, where it is large: see {@link cappedOutcome}. Or a result of bytes, which has no envelope. */
  readonly bytes?: ReplyBytes;
}

/**
 * A reply whose result has more characters than this is made as bytes, and once: a text that was joined is copied to be in
 * one piece, and again to be bytes.
 */
const largeReply = 1024 * 1024;

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

/** What a reply to one call holds: JSON of its result, bytes if the reply is, or of its error. */
export type ReplyContent = { readonly result: string | Buffer } | { readonly error: string };

const errorMember = ',"error":';

/**
 * Takes a reply to one call apart. It was made here, so that nothing is parsed.
 *
 * @param id of the call, JSON text
 */
export function contentOf(id: string, reply: string | Uint8Array): ReplyContent {
  const head = `{"jsonrpc":"2.0","id":${id},"result":`;
  if (typeof reply === 'string') {
    if (reply.startsWith(head)) return { result: reply.slice(head.length, -1) };
    // Without its id: that of a service that has ended before it read the call is null.
    return { error: reply.slice(reply.indexOf(errorMember) + errorMember.length, -1) };
  }
  const bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
  const length = Buffer.byteLength(head);
  const isResult = bytes.toString('utf8', 0, length) === head;
  return isResult ? { result: bytes.subarray(length, -1) } : contentOf(id, bytes.toString());
}

/** The whole reply of a standard error. */
export function errorReply(id: string, code: ErrorCode, data?: unknown): string {
  return replyText(id, errorOutcome(code, data));
}

/** The reply of `outcome`; where that reply is larger than `maxBytes`, the reply of a -32004. */
export function cappedReply(id: string, outcome: Outcome, maxBytes: number): string {
  return replyText(id, cappedOutcome(id, outcome, maxBytes));
}

/** `outcome` itself, with the bytes of its reply if that is large; where its reply is larger than `maxBytes`, a -32004. */
export function cappedOutcome(id: string, outcome: Outcome, maxBytes: number): Outcome {
  const { ok, text } = outcome;
  if (outcome.bytes !== undefined) {
    if (outcome.bytes.byteLength <= maxBytes) return outcome;
    return errorOutcome(ErrorCode.LimitExceeded, { limit: maxBytes });
  }
  const envelope = ok ? envelopeLength.result : envelopeLength.error;
  const length = text.length + id.length + envelope;
  if (text.length > largeReply && length <= maxBytes) {
    const bytes = replyBytes(id, outcome);
    if (bytes.byteLength <= maxBytes) return { ...outcome, bytes };
    return errorOutcome(ErrorCode.LimitExceeded, { limit: maxBytes });
  }
  const exceeds =
    exceedsByLength(length, maxBytes) ?? Buffer.byteLength(replyText(id, outcome)) > maxBytes;
  return exceeds ? errorOutcome(ErrorCode.LimitExceeded, { limit: maxBytes }) : outcome;
}

/** The reply of what `cappedOutcome` gave. */
export function finishedReply(id: string, outcome: Outcome): string | ReplyBytes {
  return outcome.bytes ?? replyText(id, outcome);
}

function replyBytes(id: string, outcome: Outcome): ReplyBytes {
  const { text, reply } = outcome;
  if (reply !== undefined) return encode('', reply, '');
  return encode(replyText(id, { ...outcome, text: '' }).slice(0, -1), text, '}');
}

const encoder = new TextEncoder();

function encode(start: string, text: string, end: string): ReplyBytes {
  const first = Buffer.byteLength(start);
  // Nearly all texts are ASCII, and counting the bytes of a text takes longer than writing them.
  let bytes = Buffer.allocUnsafeSlow(first + text.length + end.length);
  if (encoder.encodeInto(text, bytes.subarray(first, first + text.length)).read < text.length) {
    bytes = Buffer.allocUnsafeSlow(first + Buffer.byteLength(text) + end.length);
    encoder.encodeInto(text, bytes.subarray(first));
  }
  bytes.write(start);
  bytes.write(end, bytes.byteLength - end.length);
  return bytes;
}

/** Most bytes of UTF-8 that a UTF-16 unit takes. */
export const maxUnitBytes = 3;

/**
 * Whether a text is longer in UTF-8 than `limit` bytes, where its length alone decides: a UTF-16 unit takes one to three
 * bytes. Undefined: the bytes must be counted. Nearly all texts are far from their limit.
 *
 * @param length of the text in UTF-16 units
 */
export function exceedsByLength(length: number, limit: number): boolean | undefined {
  if (length > limit) return true;
  return length * maxUnitBytes <= limit ? false : undefined;
}

/** Whether a text takes more than `limit` bytes of UTF-8. */
export function textExceeds(text: string, limit: number): boolean {
  return exceedsByLength(text.length, limit) ?? Buffer.byteLength(text) > limit;
}

/**
 * Takes the reply of one call or request: the one way in which replies go back. With promises each caller on the way back adds
 * a promise and a microtask of its own, a tenth of what a small pooled call costs this thread.
 */
export interface ReplySink<Answer = Reply> {
  /**
   * Called once: before the function returns that was given the sink, or later. Must not throw: it is called in the middle of
   * other calls' results.
   */
  onReply(reply: Answer): void;
}

/** The answer as a promise, for callers who await it. Rejects with what `run` throws. */
export function promised<Answer>(run: (sink: ReplySink<Answer>) => void): Promise<Answer> {
  return new Promise((resolve) => run({ onReply: resolve }));
}
