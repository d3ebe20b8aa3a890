import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, type Reply, replyText } from '../../jsonrpc/reply.ts';
import type { Call } from '../call.ts';
import type { Executor } from '../executor.ts';
import type { StreamFlow, StreamSink } from './contract.ts';
import { ValueWindow } from './value-window.ts';

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
