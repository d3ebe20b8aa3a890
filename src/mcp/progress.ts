import { isObject } from '../jsonrpc/envelope.ts';

/** Longer messages are cut: they are for people. */
const longestMessage = 2000;

/** Longer values are not parsed to see what they say of progress. */
const longestReport = 4096;

/**
 * Writes the values of one stream as notifications of progress. A value with a number `progress` says itself how far the
 * call is; any other value counts as one step, and is shown.
 */
export class ProgressNotes {
  /** JSON text. */
  readonly #token: string;
  #last: number | undefined;

  constructor(token: string) {
    this.#token = token;
  }

  /** @param value JSON text of a value that was yielded */
  notification(value: string): string {
    const { progress, total, message } = reportOf(value);
    const last = this.#last;
    // It must grow with each notification.
    const isGrowing = progress !== undefined && (last === undefined || progress > last);
    const now = isGrowing ? progress : (last ?? 0) + 1;
    this.#last = now;
    const whole = isGrowing && total !== undefined ? `,"total":${total}` : '';
    const words = message === undefined ? '' : `,"message":${message}`;
    return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${this.#token},"progress":${now}${whole}${words}}}`;
  }
}

interface Report {
  readonly progress: number | undefined;
  readonly total: number | undefined;
  /** JSON text. */
  readonly message: string | undefined;
}

function reportOf(value: string): Report {
  if (value.length <= longestReport && value.includes('"progress":')) {
    const parsed: unknown = JSON.parse(value);
    if (isObject(parsed) && typeof parsed.progress === 'number') {
      const { progress, total, message } = parsed;
      return {
        progress,
        total: typeof total === 'number' ? total : undefined,
        message: typeof message === 'string' ? shown(message) : undefined,
      };
    }
  }
  if (value === 'null') return { progress: undefined, total: undefined, message: undefined };
  const isShortString = value.startsWith('"') && value.length <= longestMessage;
  return { progress: undefined, total: undefined, message: isShortString ? value : shown(value) };
}

function shown(text: string): string {
  return JSON.stringify(text.length > longestMessage ? `${text.slice(0, longestMessage)}…` : text);
}
