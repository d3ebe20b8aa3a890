import { type Bytes, eventsOf } from './event-lines.ts';
import type { Transport } from './index.ts';
import {
  _p as post,
  RpcTransportError,
  _a as readReplies,
  _o as resultOf,
  _r as toRequest,
} from './index.ts';
import { assertNames, UnknownOption } from './option-names.ts';
import { createReadable, type StreamTransportOptions } from './stream.ts';

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Reads streams as server-sent events, the response to a POST: `createClient({ url, streams: sse() })`, then
 * `for await (const value of client.ticks({ every: 5 }))`. What the client fetches with must give bodies as they come.
 */
export function sse(options: StreamTransportOptions = {}): Transport {
  try {
    if (process.env.NODE_ENV !== 'production') assertNames('sse', options, []);
  } catch (error) {
    if (error instanceof UnknownOption) throw error;
  }
  return (endpoint) => ({
    readable: createReadable(async function* (call, signal) {
      const request = toRequest([call]);
      const accept = 'text/event-stream, ';
      const { stream, ...answer } = await post(endpoint, request, signal, Infinity, accept);
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
      return resultOf(readReplies(request.sent, { ...answer, reply }));
    }, options.wait),
  });
}
