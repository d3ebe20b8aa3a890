import { stackOf } from '../base/message-of.ts';
import { noPlace, type Place } from '../base/place.ts';
import { StartupError } from '../base/startup-error.ts';
import type { Log } from './log.ts';

/** A call that has ended, as an observer gets it. Frozen. */
export interface CallEvent {
  /** The method as it was sent; undefined if a body, or an entry of a batch, was not a valid request. */
  readonly method: string | undefined;
  /** undefined for a notification. A number beyond double precision is rounded. */
  readonly id: string | number | null | undefined;
  /** The error's code; 0: a result. */
  readonly code: number;
  /** Where the call ran: `inline`, `worker`, or another executor's name; `none`: it was refused before it had a place. */
  readonly place: Place;
  /** Milliseconds that the call waited: in the queue, and on the way to a worker and back. */
  readonly waitMs: number;
  /** Milliseconds in the handler; undefined: the call never ran. */
  readonly runMs: number | undefined;
  /** The `ref` of a -32603: the log line with the same ref has the stack. */
  readonly ref: string | undefined;
  /** The caller's address, undefined if the transport has none, or the caller has gone. */
  readonly remoteAddress: string | undefined;
  /** The traceparent of the call's span where calls are traced, else that of the request. */
  readonly traceparent: string | undefined;
  /** Calls for which the handler ran at once, this one among them; absent if it takes single calls, or never ran. */
  readonly handlerBatch?: number;
}

/** An observer: called for each call that has ended. The first error that it throws is logged, the others are ignored. */
export type OnCall = (event: CallEvent) => unknown;

/** Joins observers into one function that never throws. */
export function callAll(observers: readonly OnCall[], log: Log): (event: CallEvent) => void {
  const failed = new Set<OnCall>();
  const note = (observer: OnCall, error: unknown): void => {
    if (failed.has(observer)) return;
    failed.add(observer);
    const detail = stackOf(error);
    log.error({ event: 'observer-failed', detail }, 'an onCall observer failed; told once');
  };
  return (event) => {
    for (const observer of observers) {
      try {
        const result = observer(event);
        // The rejection of an asynchronous observer would otherwise be unhandled.
        if (result instanceof Promise) result.catch((error: unknown) => note(observer, error));
      } catch (error) {
        note(observer, error);
      }
    }
  };
}

/**
 * The list of observers, from one observer, a list, or undefined.
 *
 * @param where begins the message
 * @throws StartupError for an observer that is not a function
 */
export function toObservers(onCall: unknown, where: string): readonly OnCall[] {
  if (onCall === undefined) return [];
  const observers: readonly unknown[] = Array.isArray(onCall) ? onCall : [onCall];
  for (const observer of observers) {
    if (typeof observer === 'function') continue;
    const got = observer === null ? 'null' : typeof observer;
    throw new StartupError(`${where}: expected a function or a list of them, got ${got}`);
  }
  // Each observer was checked above.
  return observers as readonly OnCall[];
}

/** A caller may send any text as a method. Of one that is not registered, a line shows so many characters. */
const maxMethod = 64;

/** Logs one line for each call, at the level info. Params and results are not passed to it. */
export function accessLog(log: Log): OnCall {
  return ({ method, id, code, place, waitMs, runMs, ref, remoteAddress, traceparent, ...rest }) => {
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
      ...rest,
    };
    log.info(fields, 'call');
  };
}

/** Milliseconds, rounded to whole microseconds. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
