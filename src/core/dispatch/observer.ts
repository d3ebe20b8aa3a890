import type { Overload } from '../base/overloads.ts';
import type { Place } from '../base/place.ts';
import type { Reply } from '../protocol/reply.ts';
import type { Call } from './call.ts';
import type { RequestScope } from './scope.ts';

/** Instead of the time it ran: a call that was refused, dropped or lost before its handler was entered. */
export const neverRan = -1;

/** Instead of the time it ran: the call ran and was not timed; another one that was timed stands for it. */
export const notTimed = -2;

/**
 * Which calls are timed. `sampled`: of the calls that run inline from start to end without a wait only some, since two readings of
 * the clock may take longer than such a call.
 */
export type Timing = 'none' | 'sampled' | 'all';

/**
 * Told of the end of each call and stream, at the one point where it is known. Facts are passed as arguments, so that a report
 * makes no object. None of the methods throws.
 */
export interface CallObserver {
  readonly timing: Timing;
  /**
   * A call of a procedure has its answer. Once for each, notifications included; called by `CallEnding` alone.
   *
   * @param code of its error; 0: a result
   * @param place the executor's own name, or `noPlace`
   * @param waitUs microseconds from its arrival that it did not run: queue, and the way there and back
   * @param runUs microseconds in its handler, waiting there included; `neverRan`, `notTimed`
   * @param reply as it goes out, undefined for a notification
   */
  onCall(call: Call, code: number, place: Place, waitUs: number, runUs: number, reply: Reply): void;
  /**
   * A stream has ended. Once for each that has opened: its call was reported when it opened.
   *
   * @param code of the error that ended it; 0: its generator returned
   * @param values how many it gave, of so many `characters` of JSON
   * @param ms since it opened
   */
  onStreamEnd?(
    call: Call,
    code: number,
    place: Place,
    values: number,
    characters: number,
    ms: number,
  ): void;
  /** A call or a whole request is refused because there is too much. Its end is told by itself. */
  onOverloaded?(overload: Overload, scope: RequestScope): void;
  /**
   * Something that is no call of a procedure was refused: a body, an entry of a batch, a method that no procedure has.
   *
   * @param method as it was sent, undefined where none could be read
   * @param id JSON text, undefined for a notification and where none could be read
   */
  onRefused(
    code: number,
    method: string | undefined,
    id: string | undefined,
    scope: RequestScope,
  ): void;
}
