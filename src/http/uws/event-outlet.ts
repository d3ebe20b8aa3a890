import type { HttpResponse } from 'uWebSockets.js';
import type { EventOutlet, EventStream } from '../event-stream/event-stream.ts';
import { keepAliveComment } from '../event-stream/event-text.ts';
import { writeLines } from './head-lines.ts';
import { nativeText } from './native-text.ts';
import type { Closer, UwsReplies } from './reply.ts';

/**
 * Events on uWebSockets.js: one chunk for each write. What a write leaves unsent, uWebSockets.js keeps, and sends when
 * something else is written, never by itself. Whether all was sent, too, is told by the next write only.
 */
export class UwsEventOutlet implements EventOutlet {
  readonly #res: HttpResponse;
  readonly #replies: UwsReplies;
  readonly #stream: EventStream;
  readonly #onEnd: () => void;
  readonly #closer: Closer | undefined;
  #hasEnded = false;
  /** Headers of the reply; undefined: they were written. */
  #lines: readonly string[] | undefined;
  /** The last write was not taken whole. */
  #isBlocked = false;

  /**
   * @param lines flat: name, value, name, value
   * @param onEnd called when the reply is about to end; where the connection goes, call `leave` instead
   * @param closer closes the connection behind the end; undefined: the connection goes on
   */
  constructor(
    res: HttpResponse,
    replies: UwsReplies,
    stream: EventStream,
    lines: readonly string[],
    onEnd: () => void,
    closer?: Closer,
  ) {
    this.#res = res;
    this.#replies = replies;
    this.#stream = stream;
    this.#lines = lines;
    this.#onEnd = onEnd;
    this.#closer = closer;
    // Without this listener, a timer of uWebSockets.js goes on beside a backlog that was sent, and ends the connection.
    res.onWritable(() => {
      this.offer();
      return true;
    });
    replies.add(this);
  }

  write(texts: readonly string[], isLast = false): boolean {
    let isTaken = true;
    this.#res.cork(() => {
      if (this.#lines !== undefined) writeLines(this.#res, this.#lines);
      this.#lines = undefined;
      for (const text of texts) isTaken = this.#res.write(nativeText(text));
      if (isTaken && isLast) this.#end();
    });
    if (this.#hasEnded) this.#closer?.close();
    this.#isBlocked = !isTaken;
    return isTaken;
  }

  /**
   * Has what was kept sent, as far as there is room: when the system reports room, and from time to time, since it
   * reports room late (see UwsReplies). A comment tells whether all was sent. Where no write has failed, an empty cork sends
   * what the last one may have left, and adds nothing.
   */
  offer(): void {
    if (!this.#isBlocked) this.#res.cork(() => {});
    else if (this.write([keepAliveComment])) this.#stream.drained();
  }

  end(): void {
    this.#res.cork(() => this.#end());
    this.#closer?.close();
  }

  cut(): void {
    this.#res.close();
  }

  /** The connection has gone. */
  leave(): void {
    this.#replies.delete(this);
  }

  #end(): void {
    this.leave();
    this.#hasEnded = true;
    this.#onEnd();
    // Without the argument that closes the connection: uWebSockets.js would write its header into the body.
    this.#res.end();
  }
}
