/** The part of a ReadableStream that is used here. */
export interface Bytes {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  };
}

/**
 * The data of each server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html), as it comes.
 */
export async function* eventsOf(stream: Bytes): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  // It takes a byte order mark away.
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const text = decoder.decode(value, { stream: true });
    rest += text;
    // What has no end of a line in it is not searched again for every piece of a long line.
    if (!/[\r\n]/.test(text)) continue;
    // A carriage return at the end may be the half of an end of a line.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line === '' && data.length > 0) {
        yield data.join('\n');
        data = [];
      }
    }
  }
}
