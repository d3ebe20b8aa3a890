import type { RequestFacts } from '../../router/lazy-context.ts';

/** A call as it crosses to a replica. */
export interface FrameEntry {
  /** The call's name in the ledger and in its result. */
  readonly ticket: number;
  /** Whether this call begins only when the entry before it has ended (its predecessor in a batch). */
  readonly follows: boolean;
  /** Whether this call is expected to be so short that the replica need not report earlier results before it. */
  readonly isShort: boolean;
  readonly method: string;
  /** JSON text of the id; undefined for a notification. */
  readonly id: string | undefined;
  /** The text that holds the params (as shared bytes where it is large); undefined where there are no params. */
  readonly source: string | Uint8Array | undefined;
  /** Where the params stand in `source`; `end` -1: the whole of `source` is the params. */
  readonly start: number;
  readonly end: number;
  /** Milliseconds the call may run. */
  readonly timeoutMs: number;
  /** When the caller stops waiting, by `clockMs` of the front end; Infinity: never. */
  readonly expiresAt: number;
  readonly facts: RequestFacts | undefined;
}

/**
 * The calls of one message to a replica: all numbers in one array, all texts in one string. Cloning these two costs a
 * fraction of cloning an object, or an array item, for each field.
 *
 *     numbers   11 for each call
 *        0 ticket          1 flags         2 timeoutMs    3 expiresAt
 *        4 method length   5 id length     6 source length, 7 start, 8 end
 *        9 address length  10 none, or listed: five texts in `facts`
 *
 *     text      of each call, one call behind another; as long as the numbers say
 *        method | id | source | address
 *
 * A length of -1 (`none`): the call has no such text. A source length of -2 - n (`listed` - n): the source is the
 * first n bytes of the next buffer in `shared`.
 */
export interface Frame {
  readonly type: 'frame';
  readonly numbers: Float64Array;
  readonly text: string;
  /** The sources that cross as shared bytes, in the order of their calls. */
  readonly shared: readonly SharedArrayBuffer[] | undefined;
  /** `textsPerFacts` texts for each call whose request has facts beyond an address, in the order of those calls. */
  readonly facts: readonly (string | undefined)[] | undefined;
}

export const numbersPerCall = 11;

/** Headers as JSON text, address, what is known of the caller as JSON text, traceparent, tracestate. */
export const textsPerFacts = 5;

/** Bits of a call's second number. */
export const Flag = { follows: 1, short: 2 } as const;

/**
 * In place of a length. `none`: there is no such text. `listed`: the text is the next in the frame's list. For a
 * source in the list, the length is subtracted from `listed`, since the source's buffer may be longer.
 */
export const none = -1;
export const listed = -2;
