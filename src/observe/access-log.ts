import type { OnCall } from './call-event.ts';
import type { Log } from './log.ts';

/** A method that nobody has may be anything: a line shows so many characters of it. */
const maxMethod = 64;

/** One line for each call, at the level info. Neither params nor results are near it. */
export function accessLog(log: Log): OnCall {
  return ({ method, id, code, place, waitMs, runMs, ref, remoteAddress, traceparent }) => {
    const isLong = place === 'none' && method !== undefined && method.length > maxMethod;
    const fields = {
      event: 'call' as const,
      method: isLong ? `${method.slice(0, maxMethod)}…` : method,
      id,
      code,
      place,
      ms: rounded(waitMs + (runMs ?? 0)),
      waitMs: rounded(waitMs),
      ref,
      remoteAddress,
      traceparent,
    };
    log.info(fields, 'call');
  };
}

/** To whole microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
