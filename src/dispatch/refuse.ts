import { type Body, largeBody, unreadableBody } from '../jsonrpc/body.ts';
import { type Envelope, type InvalidEnvelope, isInvalid } from '../jsonrpc/envelope.ts';
import { decodeUtf8, readBody, readBytes } from '../jsonrpc/read.ts';
import { readPayload } from '../jsonrpc/read-value.ts';
import { cappedReply, errorReply, type Outcome, type Reply } from '../jsonrpc/reply.ts';
import { scanLargeBody } from './large-body.ts';
import type { KernelLimits } from './routing.ts';

/**
 * The reply to a body of which nothing may run: the refusal with the request's id, one object with id null
 * for a batch, nothing for notifications. What is no request keeps the error it would have had.
 *
 * Of a large body only the envelope is read, from both ends: who is refused must not buy the parsing of
 * megabytes. Where that does not tell the id, it is null. Only what seems to be a notification is read whole.
 */
export function refuseBody(
  body: string | Uint8Array,
  refusal: Outcome,
  limits: KernelLimits,
): Reply {
  if (body.length > largeBody) {
    const quick = scanLargeBody(body, limits.strict);
    // What looks like a notification may have its id behind the params.
    if (quick === undefined || quick.id !== undefined)
      return replyTo(quick?.id ?? 'null', refusal, limits);
    const read = typeof body === 'string' ? readBody(body, limits) : readBytes(body, limits);
    return refuse(read, refusal, limits);
  }
  const text = typeof body === 'string' ? body : decodeUtf8(body);
  if (text === undefined) return unreadableBody().reply;
  return refuse(readBody(text, anyBatch(limits)), refusal, limits);
}

/** The same for a payload that is parsed already. */
export function refusePayload(payload: unknown, refusal: Outcome, limits: KernelLimits): Reply {
  return refuse(readPayload(payload, anyBatch(limits)), refusal, limits);
}

/** `maxBatch` is not checked where nothing of the batch runs. */
function anyBatch(limits: KernelLimits): KernelLimits {
  return { ...limits, maxBatch: Number.POSITIVE_INFINITY };
}

function refuse(body: Body, refusal: Outcome, limits: KernelLimits): Reply {
  switch (body.kind) {
    case 'reply':
      return body.reply;
    case 'single': {
      const { entry } = body;
      if (isNotification(entry)) return undefined;
      if (isInvalid(entry)) return errorReply(entry.id, entry.code);
      return replyTo(entry.id ?? 'null', refusal, limits);
    }
    case 'batch':
      return body.entries.every(isNotification) ? undefined : replyTo('null', refusal, limits);
  }
}

function isNotification(entry: Envelope | InvalidEnvelope): boolean {
  return !isInvalid(entry) && entry.id === undefined;
}

function replyTo(id: string, outcome: Outcome, { maxReplyBytes }: KernelLimits): string {
  return cappedReply(id, outcome, maxReplyBytes);
}
