import { type Outcome, replyText } from '../../jsonrpc/reply.ts';
import { subscriptionNames } from '../../router/stream/subscription-names.ts';
import type { Procedure } from '../../router/types.ts';
import { eventStreamType } from './accepts.ts';

/**
 * The text of an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). An event is one line
 * `data:` and an empty line. JSON text holds no line break, so one line is enough.
 */

/** The headers of the reply, beside those of CORS: flat, name and value. A proxy must neither keep nor gather events. */
export const eventStreamLines: readonly string[] = [
  'content-type',
  eventStreamType,
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
];

/** A comment, which clients leave out: it says that the stream is alive. */
export const heartbeat = ':\n\n';

/** What stands behind the value in the event that brings it. */
export const valueEnd = '}}\n\n';

/**
 * What stands before the value in each event of a stream.
 *
 * @param id JSON text of the request's id, as it was written
 */
export function valueStart(procedure: Procedure, id: string): string {
  const method = JSON.stringify(subscriptionNames(procedure).notification);
  return `data: {"jsonrpc":"2.0","method":${method},"params":{"subscription":${id},"result":`;
}

/** The last event: the reply of the call that opened the stream. */
export function endEvent(id: string, outcome: Outcome): string {
  return `data: ${replyText(id, outcome)}\n\n`;
}
