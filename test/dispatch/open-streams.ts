import type { CallObserver } from '../../src/core/dispatch/call.ts';
import { DeadlineSweep } from '../../src/core/dispatch/deadline.ts';
import type { RequestScope } from '../../src/core/dispatch/scope.ts';
import { oneCaller, Share } from '../../src/core/dispatch/share.ts';
import { OpenStreams } from '../../src/core/dispatch/streams/open-streams.ts';

/** The streams of a service that may be open as long as they like, ten thousand at a time. */
export function openStreams(
  timeoutMs: number,
  deadlines: DeadlineSweep = new DeadlineSweep(),
  observer?: CallObserver,
): OpenStreams {
  const share = new Share<RequestScope>(10_000, oneCaller);
  return new OpenStreams({ timeoutMs, maxStreamMs: 0 }, deadlines, share, observer);
}
