import {
  type StreamFlow,
  type StreamSink,
  streamWindow,
} from '../../../src/core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../../src/core/dispatch/streams/readers.ts';
import { type Outcome, type Reply, replyText } from '../../../src/core/protocol/reply.ts';

/** Reads a stream as transports do, and notes what must not happen. */
export class Reader implements StreamSink {
  readonly values: string[] = [];
  readonly faults: string[] = [];
  outcome: Outcome | undefined;
  hasOpened = false;
  isCancelled = false;
  readonly #tag: string;
  readonly #stallsAt: number;
  #taken = 0;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  #wake: (() => void)[] = [];

  /** @param stallsAt values after which it reads no more */
  constructor(tag: string, stallsAt = Number.POSITIVE_INFINITY) {
    this.#tag = tag;
    this.#stallsAt = stallsAt;
  }

  /** See {@link StreamSink}. */
  opened(flow: StreamFlow): Reply {
    if (this.hasOpened) this.faults.push('it opens twice');
    this.hasOpened = true;
    this.#flow = flow;
    this.#window = new ValueWindow(flow);
    this.#window.open();
    this.#told();
    return replyText(JSON.stringify(this.#tag), { ok: true, code: 0, text: '"opened"' });
  }

  /** See {@link StreamSink}. */
  value(text: string): void {
    this.#noteLate('a value');
    this.values.push(text);
    // The reader asks again for halves of the window.
    if (this.values.length - this.#taken > streamWindow.values) {
      this.faults.push('it was given more than it asked for');
    }
    if (this.values.length <= this.#stallsAt) {
      this.#taken++;
      this.#window?.add(text.length);
      this.#window?.taken();
    }
    this.#told();
  }

  /** See {@link StreamSink}. */
  end(outcome: Outcome): void {
    this.#noteLate('an end');
    this.outcome = outcome;
    this.#told();
  }

  cancel(): void {
    this.isCancelled = true;
    this.#flow?.cancel();
    this.#told();
  }

  /** The stream's end; never, for one that was cancelled. */
  async ended(): Promise<Outcome> {
    await this.until(() => this.outcome !== undefined);
    return this.outcome as Outcome;
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  #noteLate(what: string): void {
    if (this.outcome !== undefined) this.faults.push(`${what} after the end`);
    if (this.isCancelled) this.faults.push(`${what} after the cancel`);
  }

  #told(): void {
    const woken = this.#wake;
    this.#wake = [];
    for (const wake of woken) wake();
  }
}
