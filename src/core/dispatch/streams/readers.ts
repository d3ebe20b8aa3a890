import { ErrorCode } from '../../protocol/errors.ts';
import { errorOutcome, type Outcome, type Reply, replyText } from '../../protocol/reply.ts';
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

  /** The reader has done with a value of so many characters. */
  taken(characters: number): void {
    this.#values++;
    this.#characters += characters;
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

/** What an array takes beside its values and their commas. */
const brackets = 2;

/** Gathers a stream into one reply: the array of its values. What its generator returns is left out. */
class Collector implements StreamSink {
  readonly isCollected = true;
  readonly reply: Promise<Reply>;
  readonly #id: string;
  readonly #maxReplyBytes: number;
  readonly #texts: string[] = [];
  #left: number;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  #resolve!: (reply: Reply) => void;
  hasOpened = false;

  constructor(id: string, maxReplyBytes: number) {
    this.#id = id;
    this.#maxReplyBytes = maxReplyBytes;
    const empty = replyText(id, { ok: true, code: 0, text: '' });
    this.#left = maxReplyBytes - Buffer.byteLength(empty) - brackets;
    this.reply = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  opened(flow: StreamFlow): Reply {
    this.hasOpened = true;
    this.#flow = flow;
    this.#window = new ValueWindow(flow);
    this.#window.open();
    return undefined; // the reply comes when the stream has ended
  }

  value(text: string): void {
    this.#left -= Buffer.byteLength(text) + 1;
    if (this.#left < -1) {
      this.#flow?.cancel();
      this.#answer(errorOutcome(ErrorCode.LimitExceeded, { limit: this.#maxReplyBytes }));
      return;
    }
    this.#texts.push(text);
    this.#window?.taken(text.length);
  }

  end(outcome: Outcome): void {
    this.#answer(outcome.ok ? { ok: true, code: 0, text: `[${this.#texts.join(',')}]` } : outcome);
  }

  #answer(outcome: Outcome): void {
    this.#resolve(replyText(this.#id, outcome));
  }
}

/** Runs a streaming procedure as if it were none: its call is answered with the array of its values. */
export class CollectingExecutor implements Executor {
  readonly place: Executor['place'];
  readonly takesUnparsed: boolean;
  readonly #executor: Executor;
  readonly #maxReplyBytes: number;

  /** @param executor runs the call */
  constructor(executor: Executor, maxReplyBytes: number) {
    this.place = executor.place;
    this.takesUnparsed = executor.takesUnparsed;
    this.#executor = executor;
    this.#maxReplyBytes = maxReplyBytes;
  }

  async execute(call: Call): Promise<Reply> {
    const collector = new Collector(call.id ?? 'null', this.#maxReplyBytes);
    const reply = await this.#executor.execute({ ...call, sink: collector });
    return collector.hasOpened ? collector.reply : reply;
  }
}

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
