import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';

export type CallLogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes a line into the service's log: facts as a JSON value, then a sentence for people. */
export type WriteLine = (fields: Readonly<Record<string, unknown>>, text: string) => void;

/** The log of one call, the same inline and in a worker. Its lines carry the call's method and id. */
export type CallLog = Readonly<Record<CallLogLevel, WriteLine>>;

/** A line as it crosses between threads. */
export interface CallLine {
  readonly level: CallLogLevel;
  readonly method: string;
  /** JSON text; undefined: a notification. */
  readonly id: string | undefined;
  /** JSON text of the fields. */
  readonly fields: string;
  readonly text: string;
}

/** Lines that one thread may write in a second. Each costs the front end some microseconds. */
const linesPerSecond = 1000;
/** Longest JSON text of the fields of a line, and longest sentence, characters. */
export const maxLine = 8192;
const windowMs = 1000;

/** The lines of all calls of one thread. They are bounded; what is dropped is counted, and the count is a line. */
export class CallLines {
  readonly #write: (line: CallLine) => void;
  #windowEnds = 0;
  #left = 0;
  #dropped = 0;

  constructor(write: (line: CallLine) => void) {
    this.#write = write;
  }

  /** @param id JSON text; undefined: a notification */
  of(method: string, id: string | undefined): CallLog {
    const at =
      (level: CallLogLevel): WriteLine =>
      (fields, text) =>
        this.#put(level, method, id, fields, text);
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  /** Never throws: a line that can't be written must not cost its call. */
  #put(
    level: CallLogLevel,
    method: string,
    id: string | undefined,
    fields: unknown,
    text: unknown,
  ): void {
    const now = clockMs();
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + windowMs;
      this.#left = linesPerSecond;
    }
    if (this.#left === 0) {
      if (this.#dropped === 0) setTimeout(() => this.#tellDropped(), windowMs).unref();
      this.#dropped++;
      return;
    }
    this.#left--;
    this.#write({ level, method, id, fields: fieldsText(fields), text: cut(text) });
  }

  #tellDropped(): void {
    const fields = JSON.stringify({ dropped: this.#dropped });
    this.#dropped = 0;
    const text = 'lines of context.log were dropped: a thread writes 1000 a second';
    this.#write({ level: 'warn', method: '', id: undefined, fields, text });
  }
}

function fieldsText(fields: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(fields);
  } catch (error) {
    return JSON.stringify({ unwritable: cut(messageOf(error)) });
  }
  if (text === undefined) return '{}';
  return text.length <= maxLine ? text : JSON.stringify({ tooLong: text.length });
}

function cut(text: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  return whole.length <= maxLine ? whole : `${whole.slice(0, maxLine - 1)}…`;
}
