import { limitExceeded } from '../../dispatch/limit.ts';
import type { QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { ErrorCode } from '../../jsonrpc/errors.ts';
import { textExceeds } from '../../jsonrpc/utf8.ts';

/**
 * Answers a call with what its member has made of it.
 *
 * @param code of its error; 0: a result
 * @param body the reply; nothing: there is none to pass on
 */
export function answerWith(
  item: QueuedCall,
  code: number,
  runUs: number,
  body: string | Uint8Array,
): void {
  const { ending } = item.train;
  const { id } = item.call;
  const limit = ending.maxReplyBytes;
  if (body.length > 0 && exceeds(body, limit)) {
    item.refuse(limitExceeded(limit), runUs);
  } else if (body.length === 0 && id !== undefined) {
    item.refuse({ code: code as ErrorCode }, runUs);
  } else item.answer(body.length === 0 ? undefined : body, code, runUs);
}

function exceeds(body: string | Uint8Array, limit: number): boolean {
  return typeof body === 'string' ? textExceeds(body, limit) : body.byteLength > limit;
}
