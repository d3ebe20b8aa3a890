/**
 * What a stream's generator gives, on its way from the replica. An item goes the way of a result, through the outbox or in
 * a message, so that a thread that is killed loses no value that was yielded:
 *
 *     ticket      of the call that opened the stream, negative          a call's own ticket is positive
 *     code        of the error of an end; else 0
 *     micros      the item's number in its stream, from 0
 *     elapsedUs   its kind
 *     reply       JSON text: of the value, of what was returned, of the error; '' where it was closed
 *
 * What does not fit into the outbox overtakes nothing there, but what comes after it in the outbox may be read before its
 * message: the front end puts the items of a stream in order by their numbers.
 */
export const ItemKind = {
  value: 0,
  /** The stream has ended, with what its generator returned. */
  result: 1,
  /** The stream has ended with an error. */
  error: 2,
  /** The generator is gone: the last item of every stream, also where the front end has cancelled it. */
  closed: 3,
} as const;

/** Whether an entry of the outbox, or a message like it, is an item of a stream. */
export function isStreamItem(ticket: number): boolean {
  return ticket < 0;
}
