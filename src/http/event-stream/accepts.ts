import { lastElement } from '../edge/list-header.ts';

/** The media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** The weight 0: a type with it is not accepted (RFC 9110, 12.4.2). */
const noWeight = /^0(?:\.0{0,3})?$/;

/**
 * Whether an Accept names server-sent events. A range that would match anything does not name them: most clients send
 * such a range without thinking of streams.
 */
export function acceptsEventStream(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || !/event-stream/i.test(accept)) return false;
  let end = accept.length;
  // From the end, since a list can only be read from there in one pass.
  while (end >= 0) {
    const start = lastElement(accept, end, ',');
    if (start === undefined) return false;
    if (names(accept.slice(start, end).toLowerCase())) return true;
    end = start - 1;
  }
  return false;
}

/** @param range a media range with its parameters, in lower case */
function names(range: string): boolean {
  let end = range.length;
  let weight: string | undefined;
  for (;;) {
    const start = lastElement(range, end, ';');
    if (start === undefined) return false;
    const part = range.slice(start, end).trim();
    if (start === 0) return part === eventStreamType && !noWeight.test(weight ?? '1');
    // What stands before the weight are the type's own parameters, of which it has one: its charset, always UTF-8.
    if (part.startsWith('q=')) weight = part.slice('q='.length).trim();
    end = start - 1;
  }
}
