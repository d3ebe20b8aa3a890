import { StartupError } from '../base/startup-error.ts';
import type { Log } from './log.ts';

/** One call that has ended, as observers are told of it. Frozen. */
export interface CallEvent {
  /** As it was sent; undefined where a body, or an entry of a batch, was no request. */
  readonly method: string | undefined;
  /** undefined for a notification. A number beyond double precision is rounded. */
  readonly id: string | number | null | undefined;
  /** The error's code; 0: a result. */
  readonly code: number;
  /** Where it ran; `none`: it was refused before it had a place. */
  readonly place: 'inline' | 'worker' | 'none';
  /** Milliseconds it did not run: in the queue, and on the way to a worker and back. */
  readonly waitMs: number;
  /** Milliseconds in its handler; undefined: it never ran. */
  readonly runMs: number | undefined;
  /** Of a -32603: the log line with the same ref has the stack. */
  readonly ref: string | undefined;
  /** The caller's address, undefined where the transport has none, or the caller has gone. */
  readonly remoteAddress: string | undefined;
  /** Of the call's span where it is traced, else the request's. */
  readonly traceparent: string | undefined;
}

/** Told of each call once it has ended. What it throws is logged once and harms nobody. */
export type OnCall = (event: CallEvent) => unknown;

/** Observers as one function that never throws. */
export function callAll(observers: readonly OnCall[], log: Log): (event: CallEvent) => void {
  const failed = new Set<OnCall>();
  const note = (observer: OnCall, error: unknown): void => {
    if (failed.has(observer)) return;
    failed.add(observer);
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error({ event: 'observer-failed', detail }, 'an onCall observer failed; told once');
  };
  return (event) => {
    for (const observer of observers) {
      try {
        const result = observer(event);
        // An asynchronous one: nobody else would hear of its end.
        if (result instanceof Promise) result.catch((error: unknown) => note(observer, error));
      } catch (error) {
        note(observer, error);
      }
    }
  };
}

/**
 * Observers, given as one or as a list, as a list.
 *
 * @param where begins the message
 * @throws StartupError for what is no function
 */
export function toObservers(onCall: unknown, where: string): readonly OnCall[] {
  if (onCall === undefined) return [];
  const observers: readonly unknown[] = Array.isArray(onCall) ? onCall : [onCall];
  for (const observer of observers) {
    if (typeof observer === 'function') continue;
    const got = observer === null ? 'null' : typeof observer;
    throw new StartupError(`${where}: expected a function or a list of them, got ${got}`);
  }
  // Checked above, one by one.
  return observers as readonly OnCall[];
}
