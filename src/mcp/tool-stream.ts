import type {
  StreamCall,
  StreamFlow,
  StreamHost,
  StreamSink,
} from '../dispatch/streams/contract.ts';
import { ValueWindow } from '../dispatch/streams/value-window.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, type Reply } from '../jsonrpc/reply.ts';
import type { Procedure } from '../router/types.ts';
import type { ProgressNotes } from './progress.ts';

/**
 * What the values of one streaming call are for: notifications of progress, where the client asked for them, and the
 * result of the call, where its procedure lets them be gathered. Any other call's result is what its generator returns.
 */
export class StreamedResult {
  readonly notes: ProgressNotes | undefined;
  readonly #texts: string[] | undefined;
  #left: number;

  /** @param maxBytes most bytes of the values that are gathered */
  constructor(procedure: Procedure, notes: ProgressNotes | undefined, maxBytes: number) {
    this.notes = notes;
    this.#texts = procedure.stream?.collect === true ? [] : undefined;
    this.#left = maxBytes;
    this.#maxBytes = maxBytes;
  }

  readonly #maxBytes: number;

  /** @returns false: what is gathered is too large, and the call may as well end */
  add(text: string): boolean {
    if (this.#texts === undefined) return true;
    this.#left -= Buffer.byteLength(text) + 1;
    if (this.#left < 0) this.#texts.length = 0;
    else this.#texts.push(text);
    return this.#left >= 0;
  }

  /** What the call came to. */
  outcome(ended: Outcome): Outcome {
    if (this.#left < 0) return errorOutcome(ErrorCode.LimitExceeded, { limit: this.#maxBytes });
    if (!ended.ok || this.#texts === undefined) return ended;
    return { ok: true, code: 0, text: `[${this.#texts.join(',')}]` };
  }
}

/** Where notifications of progress go, if not into the reply. */
export interface ProgressOutlet {
  /**
   * @param taken called when the client has room for more, at once or later
   */
  send(notification: string, taken: () => void): void;
}

/**
 * Reads the stream of a call to its end, which is the call's own. For clients that can't be told of progress in the reply
 * itself.
 */
export class ToolStream implements StreamHost, StreamSink {
  /** Where nobody hears of progress, the call's own deadlines hold for all of it. */
  readonly isCollected: boolean;
  readonly #result: StreamedResult;
  readonly #outlet: ProgressOutlet | undefined;
  readonly #onEnd: (outcome: Outcome) => void;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;

  /** @param onEnd told once, with what the call came to, where the stream has opened */
  constructor(
    result: StreamedResult,
    outlet: ProgressOutlet | undefined,
    onEnd: (outcome: Outcome) => void,
  ) {
    this.#result = result;
    this.#outlet = result.notes === undefined ? undefined : outlet;
    this.isCollected = this.#outlet === undefined;
    this.#onEnd = onEnd;
  }

  get hasOpened(): boolean {
    return this.#flow !== undefined;
  }

  accept(_call: StreamCall): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): Reply {
    this.#flow = flow;
    this.#window = new ValueWindow(flow);
    this.#window.open();
    return undefined;
  }

  value(text: string): void {
    if (!this.#result.add(text)) {
      this.#flow?.cancel();
      this.#onEnd(this.#result.outcome(nothing));
      return;
    }
    const { length } = text;
    const note = this.#outlet && this.#result.notes?.notification(text);
    if (note === undefined) this.#window?.taken(length);
    else this.#outlet?.send(note, () => this.#window?.taken(length));
  }

  end(outcome: Outcome): void {
    this.#onEnd(this.#result.outcome(outcome));
  }
}

const nothing: Outcome = { ok: true, code: 0, text: 'null' };
