import { escapeControls } from '../base/escape.ts';
import { type LogEvent, logEvents } from './events.ts';
import { type Log, type LogFields, logOf } from './log.ts';

/** An event of the log, as the console shows it. */
export interface RecentEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: string;
  /** What happened, and to what: one line without a stack, and without anything that a caller sent. */
  readonly text: string;
}

/** Most events that are kept. */
export const maxEvents = 200;

/** Longest text of an event, in characters. */
const maxTextLength = 240;

/** The fields that are shown. Others may hold a stack, a path or what a handler said. */
const shown = [
  'process',
  'method',
  'place',
  'reason',
  'group',
  'member',
  'version',
  'code',
  'signal',
  'retryMs',
  'count',
  'times',
  'calls',
  'ms',
] as const;

/** The last events of one process: a tee on its log. */
export class RecentEvents {
  readonly #events: RecentEvent[] = [];

  /** A copy, the oldest first. */
  get list(): readonly RecentEvent[] {
    return [...this.#events];
  }

  /** @returns a log that writes to `log`, at whatever level that is, and keeps what happens to the service here */
  tee(log: Log): Log {
    return logOf((level) => {
      if (level === 'debug') return log.debug;
      return (fields, message) => {
        this.#note(fields, message);
        log[level](fields, message);
      };
    });
  }

  #note(fields: LogFields & { readonly event: LogEvent }, message: string): void {
    const { event } = fields;
    if (!logEvents[event].isOnConsole) return;
    this.#events.push({ at: Date.now(), event, text: textOf(fields, message) });
    if (this.#events.length > maxEvents) this.#events.shift();
  }
}

function textOf(fields: LogFields, message: string): string {
  const facts = shown.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' || typeof value === 'number' ? [`${name}: ${value}`] : [];
  });
  const [line = ''] = [message, ...facts].join(' · ').split('\n');
  const text = escapeControls(line);
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text;
}
