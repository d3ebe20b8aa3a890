import type { Transport } from './index.ts';
import { _p as post, RpcTransportError, _a as readReplies, _r as toRequest } from './index.ts';
import { createReadable, type StreamTransportOptions } from './stream.ts';

/** The part of a ReadableStream that is used here. */
interface Bytes {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  };
}

/**
 * Reads streams as server-sent events, the response to a POST: `createClient({ url, streams: sse() })`, then
 * `for await (const value of client.ticks({ every: 5 }))`. What the client fetches with must give bodies as they come.
 */
export function sse({ wait }: StreamTransportOptions = {}): Transport {
  return (endpoint) => ({
    readable: createReadable(async function* (call, signal) {
      const { sent, body } = toRequest([call]);
      const accept = 'text/event-stream, ';
      const { stream, ...answer } = await post(endpoint, body, signal, Infinity, accept);
      let reply: unknown = stream ? undefined : answer.reply;
      try {
        for await (const text of stream ? eventsOf(stream as Bytes) : []) {
          const message = JSON.parse(text) as { readonly params?: { readonly result: unknown } };
          if (message.params) yield message.params.result;
          else {
            reply = message;
            break;
          }
        }
        if (reply === undefined) throw new Error('without an end');
      } catch (cause) {
        throw new RpcTransportError('the stream broke off', { ...answer.facts, cause });
      }
      const [outcome] = readReplies(sent, { ...answer, reply });
      if (outcome?.ok) return outcome.result;
      throw outcome?.error;
    }, wait),
  });
}

/** The data of each event. */
async function* eventsOf(stream: Bytes): AsyncGenerator<string, void, undefined> {
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
