import type { ServerResponse } from 'node:http';
import type { EventOutlet, EventStream } from '../event-stream/event-stream.ts';

/** Events on node:http. Whether the system has taken a write is told by its callback. */
export class NodeEventOutlet implements EventOutlet {
  readonly #res: ServerResponse;
  readonly #cut: () => void;
  /** Headers of the reply; undefined: they were written. */
  #lines: readonly string[] | undefined;
  readonly #onWritten: () => void;

  /**
   * @param lines flat: name, value, name, value
   * @param cut closes the connection
   */
  constructor(res: ServerResponse, stream: EventStream, lines: readonly string[], cut: () => void) {
    this.#res = res;
    this.#lines = lines;
    this.#cut = cut;
    this.#onWritten = () => {
      if (res.writableLength === 0) stream.drained();
    };
  }

  write(texts: readonly string[], isLast: boolean): boolean {
    const res = this.#res;
    if (this.#lines !== undefined) res.writeHead(200, [...this.#lines]);
    this.#lines = undefined;
    // Bytes of an earlier write are still here: no client has room for them.
    let isTaken = res.writableLength === 0;
    for (const text of texts) {
      if (text !== '') isTaken = res.write(text, this.#onWritten) && isTaken;
    }
    if (isTaken && isLast) this.end();
    return isTaken;
  }

  end(): void {
    this.#res.end();
  }

  cut(): void {
    this.#cut();
  }
}
