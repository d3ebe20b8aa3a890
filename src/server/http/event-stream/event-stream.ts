import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type {
  StreamCall,
  StreamFlow,
  StreamHost,
  StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../../core/dispatch/streams/readers.ts';
import { subscriptionNames } from '../../../core/procedures/stream.ts';
import type { Procedure } from '../../../core/procedures/types.ts';
import { type Outcome, type Reply, replyText } from '../../../core/protocol/reply.ts';
import { eventStreamType } from '../edge/request-head.ts';
import { Outflow, type OutflowLimits } from '../outflow.ts';

/**
 * The text of an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). An event is one line
 * `data:` and an empty line. JSON text holds no line break, so one line is enough.
 */

/** The headers of the reply, beside those of CORS: flat, name and value. A proxy must neither keep nor gather events. */
export const eventStreamLines: readonly string[] = [
  'content-type',
  eventStreamType,
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
];

/** A comment, which clients leave out: it says that the stream is alive. */
export const keepAliveComment = ':\n\n';

/** How the values of a stream and its end are written as events. */
export interface EventFormat {
  /** The text before each value, and the text after it. */
  readonly before: string;
  readonly behind: string;
  /** The text of a value in its event. @param value JSON text */
  value(value: string): string;
  end(outcome: Outcome): string;
}

/** One event. @param text JSON text */
export function eventText(text: string): string {
  return `data: ${text}\n\n`;
}

/**
 * Values as notifications, and the reply of the call that opened the stream at the end.
 *
 * @param id JSON text of the request's id, as it was written
 */
function plainEvents(procedure: Procedure, id: string): EventFormat {
  const method = JSON.stringify(subscriptionNames(procedure).notification);
  return {
    before: `data: {"jsonrpc":"2.0","method":${method},"params":{"subscription":${id},"result":`,
    behind: '}}\n\n',
    value: (value) => value,
    end: (outcome) => eventText(replyText(id, outcome)),
  };
}

/** The connection that events are written to, as its server has it. None of the methods throws. */
export interface EventOutlet {
  /**
   * Writes texts one after the other.
   *
   * @param isLast whether the reply ends with them. It does so at once if the system takes them
   * @param head headers of the reply, flat: given with the first texts
   * @returns false: the system has not taken all of it. The server then calls `EventStream.drained` when it has, and until
   *   then nothing more is written
   */
  write(texts: readonly string[], isLast: boolean, head: readonly string[] | undefined): boolean;
  /** Ends the reply, whose last texts the system has taken by now. Nothing is called afterwards. */
  end(): void;
  /** Closes the connection: its client does not read. */
  cut(): void;
}

export interface EventStreamOptions extends OutflowLimits {
  /** A stream that was silent for so long writes a comment; 0: it does not. */
  readonly streamPingMs: number;
}

/**
 * A stream that has given nothing for so long writes a comment, and with it the head of its reply: the client learns that
 * the stream is open.
 */
const firstPingMs = 50;

/** Longer values are no part of a joined text: a text has a longest length, which a value may almost have. */
const longValue = 64 * 1024;

/**
 * The reader of one request over HTTP: the values of its stream as server-sent events (docs/protocol.md, "Server-sent
 * events"). A value gives its credit back when the system has taken its bytes. So for a client that does not read, the
 * server holds a window of values beside what the system holds, and the generator stands still.
 */
export class EventStream implements StreamHost, StreamSink {
  readonly #streamPingMs: number;
  readonly #outflow: Outflow;
  /** How values and the end are written; set by `accept`, unless somebody else has set it before. */
  format: EventFormat | undefined;
  #window: ValueWindow | undefined;
  #outlet: EventOutlet | undefined;
  /** Headers of the reply; undefined: they were written. */
  #head: readonly string[] | undefined;
  #onEnd: (() => void) | undefined;
  #values: string[] = [];
  #ended: Outcome | undefined;
  #isEndWritten = false;
  #isFlushing = false;
  #isOver = false;
  #ping: NodeJS.Timeout | undefined;

  constructor(options: EventStreamOptions, scope: RequestScope) {
    this.#streamPingMs = options.streamPingMs;
    this.#outflow = new Outflow(options, { scope, cut: () => this.#outlet?.cut() });
  }

  /** Whether the request is answered by events: its stream has opened. */
  get isOpen(): boolean {
    return this.#window !== undefined;
  }

  /** See {@link StreamHost}. A batch gets no events: nothing would tell its streams from its replies. */
  accept({ procedure, id }: StreamCall, isAlone: boolean): StreamSink | undefined {
    if (!isAlone || id === undefined) return undefined;
    this.format ??= plainEvents(procedure, id);
    return this;
  }

  /** See {@link StreamSink}. The call is answered without a reply: `start` comes next. */
  opened(flow: StreamFlow): Reply {
    this.#window = new ValueWindow(flow);
    return undefined;
  }

  /**
   * Begins to write.
   *
   * @param head headers of the reply, flat
   * @param onEnd called when the reply has ended, but not if the connection has gone
   */
  start(outlet: EventOutlet, head: readonly string[], onEnd: () => void): void {
    this.#outlet = outlet;
    this.#head = head;
    this.#onEnd = onEnd;
    this.#setPing(firstPingMs);
    this.#window?.open();
    this.#flushSoon();
  }

  value(text: string): void {
    if (this.#isOver) return;
    this.#values.push(text);
    if (this.#isBlocked) this.#outflow.set(this.#outflow.bytes + Buffer.byteLength(text));
    else this.#flushSoon();
  }

  end(outcome: Outcome): void {
    this.#ended = outcome;
    this.#flushSoon();
  }

  /** The system has taken what was written. */
  drained(): void {
    if (this.#isOver || !this.#isBlocked) return;
    this.#outflow.set(0);
    if (this.#isEndWritten) {
      this.leave();
      this.#outlet?.end();
      this.#onEnd?.();
      return;
    }
    this.#window?.taken();
    // The time to ping may have passed meanwhile.
    this.#ping?.refresh();
    this.#flush();
  }

  leave(): void {
    this.#isOver = true;
    clearTimeout(this.#ping);
    this.#outflow.set(0);
  }

  get #isBlocked(): boolean {
    return this.#outflow.bytes > 0;
  }

  /** Writes at the end of the turn: a generator, or a message of a worker, gives several values in one. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#isBlocked || this.#outlet === undefined) return;
    this.#isFlushing = true;
    process.nextTick(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isOver || this.#isBlocked || this.#isEndWritten) return;
    const values = this.#values;
    const { format } = this;
    if (format === undefined || (values.length === 0 && this.#ended === undefined)) return;
    this.#values = [];
    const texts: string[] = [];
    let joined = '';
    for (const value of values) {
      this.#window?.add(value.length);
      const text = format.value(value);
      if (text.length > longValue) {
        texts.push(joined + format.before, text);
        joined = format.behind;
      } else {
        joined += format.before + text + format.behind;
      }
    }
    if (this.#ended !== undefined) {
      joined += format.end(this.#ended);
      this.#isEndWritten = true;
    }
    texts.push(joined);
    this.#write(texts);
  }

  #write(texts: readonly string[]): void {
    const head = this.#head;
    this.#head = undefined;
    if (head === undefined) this.#ping?.refresh();
    else this.#setPing(this.#streamPingMs);
    if (this.#outlet?.write(texts, this.#isEndWritten, head) !== false) {
      if (this.#isEndWritten) {
        this.leave();
        this.#onEnd?.();
      } else {
        this.#window?.taken();
      }
      return;
    }
    let bytes = 0;
    for (const text of texts) bytes += Buffer.byteLength(text);
    this.#outflow.set(bytes);
  }

  #setPing(ms: number): void {
    clearTimeout(this.#ping);
    this.#ping = ms === 0 ? undefined : setTimeout(() => this.#onSilence(), ms);
  }

  #onSilence(): void {
    if (!this.#isOver && !this.#isBlocked) this.#write([keepAliveComment]);
  }
}
