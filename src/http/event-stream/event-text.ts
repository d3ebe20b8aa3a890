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
export const keepAliveComment = ':\n\n';

/** How the values of a stream and its end are written as events. */
export interface EventFormat {
  /** What stands in front of each value. */
  readonly before: string;
  readonly behind: string;
  /** The text of a value in its event. @param value JSON text */
  value(value: string): string;
  /** The last event. */
  end(outcome: Outcome): string;
}

/** One event. @param text JSON text */
export function eventText(text: string): string {
  return `data: ${text}\n\n`;
}

/**
 * Values as notifications, and the reply of the call that opened the stream at the end.
 *
 * @param id JSON text of the request's id, as it was written
 */
export function plainEvents(procedure: Procedure, id: string): EventFormat {
  const method = JSON.stringify(subscriptionNames(procedure).notification);
  return {
    before: `data: {"jsonrpc":"2.0","method":${method},"params":{"subscription":${id},"result":`,
    behind: '}}\n\n',
    value: (value) => value,
    end: (outcome) => eventText(replyText(id, outcome)),
  };
}
