import type { GroupCall } from '../../dispatch/queue/call-group.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';

/**
 * Answers a call with what its member has made of it.
 *
 * @param code of its error; 0: a result
 * @param body the reply; nothing: there is none to pass on
 */
export function answerWith(
  item: GroupCall,
  code: number,
  runUs: number,
  body: string | Uint8Array,
): void {
  const { ending } = item.group;
  const { id } = item.call;
  const limit = ending.maxReplyBytes;
  if (body.length > 0 && exceeds(body, limit)) {
    item.refuse({ code: ErrorCode.LimitExceeded, data: { limit } }, runUs);
  } else if (body.length === 0 && id !== undefined) {
    item.refuse({ code: code as ErrorCode }, runUs);
  } else item.answer(body.length === 0 ? undefined : body, code, runUs);
}

function exceeds(body: string | Uint8Array, limit: number): boolean {
  // A UTF-16 unit takes three bytes at most.
  if (typeof body === 'string' && body.length * 3 <= limit) return false;
  return Buffer.byteLength(body) > limit;
}
