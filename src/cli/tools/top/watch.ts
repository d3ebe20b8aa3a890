import { messageOf } from '../../../core/base/message-of.ts';
import type { Room } from './view.ts';

/** What is shown again and again. */
export interface Watched {
  /** @param trouble why the last look failed; the empty text: it did not */
  draw(trouble: string, room: Room): readonly string[];
  /** Looks anew. Where it rejects, the view shows the last figures. */
  look(): Promise<void>;
}

/** Shows it until the user ends the view. */
export async function watch(watched: Watched, intervalMs: number): Promise<void> {
  let trouble = '';
  let isOver = false;
  let wake = (): void => {};
  const draw = (): void => screen.draw(watched.draw(trouble, screen.room));
  const end = (): void => {
    isOver = true;
    wake();
  };
  const screen = new Screen(end, () => draw());
  try {
    for (;;) {
      draw();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (isOver) return;
      try {
        await watched.look();
        trouble = '';
      } catch (error) {
        // A server that restarts is back in a moment.
        trouble = messageOf(error);
      }
      if (isOver) return;
    }
  } finally {
    screen.close();
  }
}

const alternate = '\u001b[?1049h\u001b[?25l';
const usual = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearToLineEnd = '\u001b[K';
const clearBelow = '\u001b[J';

const endKeys = new Set(['q', 'Q', '\u0003']);
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The terminal while a view is shown on it: its alternate screen, without a cursor, keys read one by one. `close`,
 * and whatever ends the process, restores what the terminal showed before.
 */
class Screen {
  readonly #onEnd: () => void;
  readonly #onResize: () => void;
  #isOpen = true;

  /** @param onEnd called when q or Ctrl-C is pressed, or a signal comes */
  constructor(onEnd: () => void, onResize: () => void) {
    this.#onEnd = onEnd;
    this.#onResize = onResize;
    process.stdout.write(alternate);
    process.stdout.on('resize', this.#onResize);
    process.once('exit', this.#restore);
    for (const signal of endSignals) process.on(signal, this.#onEnd);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.setEncoding('utf8').on('data', this.#onKey);
    }
  }

  get room(): Room {
    const { rows, columns } = process.stdout;
    return { rows, columns };
  }

  /** Replaces what is shown. */
  draw(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${clearToLineEnd}`).join('\r\n');
    process.stdout.write(`${home}${text}${clearBelow}`);
  }

  close(): void {
    process.stdout.off('resize', this.#onResize);
    process.off('exit', this.#restore);
    for (const signal of endSignals) process.off(signal, this.#onEnd);
    process.stdin.off('data', this.#onKey);
    this.#restore();
    process.stdin.pause();
  }

  readonly #onKey = (key: string): void => {
    // One chunk may hold several keys that were typed fast.
    if (Array.from(key).some((character) => endKeys.has(character))) this.#onEnd();
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdout.write(usual);
  };
}
