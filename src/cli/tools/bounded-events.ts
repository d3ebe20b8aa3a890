import { type Bytes, eventsOf } from '../../client/event-lines.ts';

/** Bytes of one event. */
const longest = 64 * 1024 * 1024;

/**
 * The data of each server-sent event, as it comes. A server that never ends an event is cut.
 *
 * @param most bytes that may come without an event
 * @throws Error for an event that is longer
 */
export async function* boundedEventsOf(
  stream: Bytes,
  most: number = longest,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  let bytes = 0;
  const read = async () => {
    const piece = await reader.read();
    bytes += piece.value?.length ?? 0;
    if (bytes > most) throw new Error(`an event is longer than ${most} bytes`);
    return piece;
  };
  for await (const event of eventsOf({ getReader: () => ({ read }) })) {
    bytes = 0;
    yield event;
  }
}
