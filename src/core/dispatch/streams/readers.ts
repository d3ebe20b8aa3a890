import { ErrorCode } from '../../protocol/errors.ts';
import {
  errorOutcome,
  errorReply,
  type Outcome,
  promised,
  type Reply,
  replyText,
  resultOutcome,
} from '../../protocol/reply.ts';
import type { Call } from '../call.ts';
import type { Executor } from '../executor.ts';
import {
  type StreamFlow,
  type StreamHost,
  type StreamSink,
  streamWindow,
  type WindowLimits,
} from './contract.ts';

/**
 * Grants a stream its window again as its values are taken: in halves, so that a value seldom costs a message to the
 * thread that makes it.
 */
export class ValueWindow {
  readonly #flow: StreamFlow;
  readonly #limits: WindowLimits;
  #values = 0;
  #characters = 0;

  constructor(flow: StreamFlow, limits: WindowLimits = streamWindow) {
    this.#flow = flow;
    this.#limits = limits;
  }

  /** Lets the stream begin. */
  open(): void {
    this.#flow.grant(this.#limits.values, this.#limits.characters);
  }

  /** A value of so many characters is with the reader. */
  add(characters: number): void {
    this.#values++;
    this.#characters += characters;
  }

  /** The reader has done with all values that were added. */
  taken(): void {
    const { values: most, characters: longest } = this.#limits;
    const isHalf = this.#values * 2 >= most || this.#characters * 2 >= longest;
    if (!isHalf) return;
    const values = this.#values;
    const granted = this.#characters;
    this.#values = 0;
    this.#characters = 0;
    this.#flow.grant(values, granted);
  }
}

/** Reads the one stream of a request in the same process: value by value, as its reader asks. */
export class PullReader implements StreamHost, StreamSink {
  readonly isCollected: boolean;
  hasOpened = false;
  readonly #texts: string[] = [];
  #next = 0;
  #ended: Outcome | undefined;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  #wake: (() => void) | undefined;

  /** @param isCollected see {@link StreamSink} */
  constructor(isCollected = false) {
    this.isCollected = isCollected;
  }

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
    this.#window?.add(text.length);
    this.#window?.taken();
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

/** What an array takes beside its values and their commas. */
const brackets = 2;

/** Runs streaming procedures as if they were none: the reply is the array of the values. What a generator returns is left out. */
export function collecting(executor: Executor, maxReplyBytes: number): Executor {
  const { place, takesUnparsed } = executor;
  const collect = async (call: Call): Promise<Reply> => {
    const reader = new PullReader(true);
    const reply = await promised<Reply>((sink) =>
      executor.execute({ ...call, sink: reader }, sink),
    );
    if (!reader.hasOpened) return reply;
    const id = call.id ?? 'null';
    let left = maxReplyBytes - Buffer.byteLength(replyText(id, resultOutcome(''))) - brackets;
    const texts: string[] = [];
    for (;;) {
      const read = await reader.next();
      if (typeof read !== 'string') {
        return replyText(id, read.ok ? resultOutcome(`[${texts.join(',')}]`) : read);
      }
      left -= Buffer.byteLength(read) + 1;
      if (left < -1) {
        reader.cancel();
        return errorReply(id, ErrorCode.LimitExceeded, { limit: maxReplyBytes });
      }
      texts.push(read);
    }
  };
  return {
    place,
    takesUnparsed,
    execute: (call, sink) => void collect(call).then((reply) => sink.onReply(reply)),
  };
}
