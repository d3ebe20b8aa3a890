import type { StreamFlow, StreamHost, StreamSink } from '../../core/dispatch/streams/contract.ts';
import type { Outcome, Reply } from '../../core/protocol/reply.ts';
import { type Answer, bodyless } from '../../server/http/edge/answer.ts';
import { namesEvents } from '../../server/http/edge/request-head.ts';
import {
  type EventFormat,
  eventStreamLines,
  eventText,
} from '../../server/http/event-stream/event-stream.ts';
import { takesEvents } from './accept.ts';
import type { Operation } from './operation.ts';
import type { Problems } from './problem.ts';

/** Whether a call is answered by events. A stream that may be gathered is JSON unless its client names events. */
export function wantsEvents({ stream }: Operation, accept: string | undefined): boolean {
  if (stream === undefined) return false;
  return stream.collect ? namesEvents(accept) : takesEvents(accept);
}

/**
 * How a stream is written: each value is an event without a name. The last event says how it has ended, since browsers connect
 * again after each end: `result`, `end` where it has none, or `error` with a problem.
 */
export function eventFormat(operation: Operation, problems: Problems): EventFormat {
  const last = ({ ok, text }: Outcome): string => {
    if (!ok) return `event: error\n${eventText(problems.ofStream(text, operation))}`;
    const hasResult = operation.stream?.hasResult === true;
    return hasResult ? `event: result\n${eventText(text)}` : `event: end\n${eventText('null')}`;
  };
  return { before: 'data: ', behind: '\n\n', value: (value) => value, end: last };
}

/** Opens the stream of a HEAD, so that it has the status of a GET, and reads nothing of it. */
export class HeadOfStream implements StreamHost, StreamSink {
  accept(): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): Reply {
    flow.cancel();
    return undefined;
  }

  value(): void {}

  end(): void {}
}

/** The answer to a HEAD whose stream has opened. */
export const headOfStream: Answer = bodyless(200, eventStreamLines);
