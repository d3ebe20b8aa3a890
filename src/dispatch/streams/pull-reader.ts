import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, type Reply } from '../../jsonrpc/reply.ts';
import type { StreamFlow, StreamHost, StreamSink } from './contract.ts';
import { ValueWindow } from './value-window.ts';

/** Reads the one stream of a request in the same process: value by value, as its reader asks. */
export class PullReader implements StreamHost, StreamSink {
  hasOpened = false;
  readonly #texts: string[] = [];
  #next = 0;
  #ended: Outcome | undefined;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  #wake: (() => void) | undefined;

  /** See {@link StreamHost}. A batch has no order in which several streams could be read. */
  accept(_call: unknown, isAlone: boolean): StreamSink | undefined {
    return isAlone ? this : undefined;
  }

  opened(flow: StreamFlow): Reply {
    this.hasOpened = true;
    this.#flow = flow;
    this.#window = new ValueWindow(flow);
    this.#window.open();
    return undefined;
  }

  value(text: string): void {
    this.#texts.push(text);
    this.#wake?.();
  }

  end(outcome: Outcome): void {
    this.#ended = outcome;
    this.#wake?.();
  }

  /** The JSON text of the next value, or how the stream ended once all values were read. */
  async next(): Promise<string | Outcome> {
    while (this.#next === this.#texts.length && this.#ended === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const text = this.#texts[this.#next];
    if (text === undefined) return this.#ended as Outcome;
    this.#next++;
    if (this.#next === this.#texts.length) {
      this.#texts.length = 0;
      this.#next = 0;
    }
    this.#window?.taken(text.length);
    return text;
  }

  /** Nobody reads any more. */
  cancel(): void {
    this.#flow?.cancel();
  }

  /** Ends the stream for its reader, too. */
  abort(): void {
    this.cancel();
    if (this.#ended === undefined) this.end(errorOutcome(ErrorCode.Cancelled));
  }
}
