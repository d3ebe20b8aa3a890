import { noPlace } from '../base/place.ts';
import type { CallEvent, OnCall } from './call-event.ts';
import type { Log } from './log.ts';

/** A caller may send any text as a method. Of one that is not registered, a line shows so many characters. */
const maxMethod = 64;

/** Logs one line for each call, at the level info. Params and results are not passed to it. */
export function accessLog(log: Log): OnCall {
  return ({ method, id, code, place, waitMs, runMs, ref, remoteAddress, traceparent }) => {
    const isLong = place === noPlace && method !== undefined && method.length > maxMethod;
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

/** A stream that has ended. */
interface StreamEvent
  extends Pick<CallEvent, 'method' | 'id' | 'code' | 'place' | 'remoteAddress' | 'traceparent'> {
  readonly values: number;
  /** Of the JSON text of its values. */
  readonly characters: number;
  /** Since it opened. */
  readonly ms: number;
}

/** Logs one line for each stream, when it ends. Its call has a line of its own, from when it opened. */
export function streamLog(log: Log): (event: StreamEvent) => void {
  return ({ ms, ...facts }) =>
    log.info({ event: 'stream' as const, ...facts, ms: rounded(ms) }, 'stream');
}

/** Milliseconds, rounded to whole microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
