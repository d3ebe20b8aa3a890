import type { MessageSizes } from '../pace.ts';
import { numbersLength } from '../wire/message.ts';
import type { CallHead, FrameText } from '../wire/to-member.ts';

/**
 * How a call goes: `shared`, in the frame that is being filled; `alone`, in frames of its own; `later`, since it follows a call whose
 * frame has no room for it; `never`, since what is known of its request is larger than the server takes.
 */
export type Framing = 'shared' | 'alone' | 'later' | 'never';

/** How a call goes that comes next. */
export function framingOf(
  call: CallHead,
  body: string | Uint8Array,
  frame: FrameText,
  { sharedLength, frameLength, factsBytes }: MessageSizes,
): Framing {
  const { facts, follows } = call;
  const isSmall = body.length + facts.length + numbersLength <= sharedLength;
  if (isSmall && typeof body === 'string') {
    return !follows || frame.lengthWith(call, body) <= frameLength ? 'shared' : 'later';
  }
  if (follows) return 'later';
  return Buffer.byteLength(facts) > factsBytes ? 'never' : 'alone';
}
