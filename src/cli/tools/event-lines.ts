/** Longest event. A server that never ends one must be cut. */
const maxCharacters = 64 * 1024 * 1024;

/**
 * The data of each server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html), as it comes.
 *
 * @throws Error for an event that is too long
 */
export async function* eventsOf(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let characters = 0;
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true });
    characters += text.length;
    if (characters > maxCharacters) throw new Error(`an event is longer than ${maxCharacters}`);
    rest += text;
    // A long line comes in many pieces: those without an end of a line are not searched again.
    if (!/[\r\n]/.test(text)) continue;
    // A carriage return may be followed by its line feed in the next piece.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 'data: '.length : 'data:'.length));
      } else if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
        characters = rest.length;
      }
    }
  }
}
