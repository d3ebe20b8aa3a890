import type { HttpResponse } from 'uWebSockets.js';
import type { Answer } from '../edge/answer.ts';
import type { ChunkedBody } from '../edge/chunked-body.ts';
import type { UwsResponse } from './response.ts';

/** What becomes of a chunked body. */
interface ChunksSink {
  /** So many bytes have come. */
  onBytes(length: number): void;
  /** The last one has come. */
  onLast(): void;
  /** Called in the handler or in a cork. */
  refuse(answer: Answer): void;
  /** The body is whole. Called in a cork. */
  take(body: Uint8Array): void;
}

/**
 * Reads a chunked body.
 *
 * uWebSockets.js takes the end of such a body where others would not: behind a chunk it passes over two bytes, whatever
 * they are, and the trailer it reads as a request. So nothing behind the body may be run. The call begins after the
 * parser's turn, and only where the parser has found nothing more in it: uWebSockets.js closes a connection on which
 * anything comes behind a request that is not answered yet. The answer closes it too (`UwsResponse.closer`).
 */
export function readChunks(
  res: HttpResponse,
  response: UwsResponse,
  body: ChunkedBody,
  sink: ChunksSink,
): void {
  const finish = (): void => {
    const whole = body.end();
    if (whole instanceof Uint8Array) sink.take(whole);
    else sink.refuse(whole);
  };
  res.onData((chunk, last) => {
    if (response.isDone) return;
    // The bytes are a view that is valid until this callback returns; the body copies them.
    const cut = body.add(new Uint8Array(chunk));
    if (cut !== undefined) {
      sink.refuse(cut);
      return;
    }
    sink.onBytes(body.length);
    if (!last) return;
    sink.onLast();
    setImmediate(() => response.cork(finish));
  });
}
