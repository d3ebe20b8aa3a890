import { escapeControls } from '../../../core/base/escape.ts';
import { messageOf } from '../../../core/base/message-of.ts';
import { printAndExit } from '../../exit.ts';
import { fitted } from '../../output.ts';

/** Lines and columns of the screen; undefined: unlimited. */
export interface Room {
  readonly rows: number | undefined;
  readonly columns: number | undefined;
}

/** The lines that stay, then as many of the list as fit. */
export function fill(lines: readonly string[], list: readonly string[], room: Room): string[] {
  const fits = room.rows === undefined ? list.length : Math.max(1, room.rows - lines.length);
  return [...lines, ...list.slice(0, fits)].map((line) => fitted(line, room.columns));
}

/** What is shown once, or again and again. */
export interface View {
  readonly title: string;
  draw(title: string, room: Room): readonly string[];
  /** Looks anew. If it rejects, the view shows the last figures. */
  look(): Promise<void>;
  /** What to tell beside the title. @param trouble why the last look failed; the empty text: it did not */
  note(trouble: string): string;
}

export interface ShowOptions {
  readonly once: boolean;
  /** Milliseconds between two looks. */
  readonly intervalMs: number;
}

/** Shows the view until the user ends it: once only if that was asked for, or the output is no terminal. Then ends the process. */
export async function show(view: View, { once, intervalMs }: ShowOptions): Promise<never> {
  const { stdout } = process;
  if (once || !stdout.isTTY) {
    const lines = view.draw(view.title, { rows: undefined, columns: undefined });
    return printAndExit(lines.map((line) => `${line}\n`).join(''));
  }
  let trouble = '';
  let isOver = false;
  let wake = (): void => {};
  const draw = (): void => {
    const note = view.note(trouble);
    const title = `${view.title}  q ends${note === '' ? '' : `  (${escapeControls(note)})`}`;
    const text = view.draw(title, stdout).map((line) => `${line}${clearToLineEnd}`);
    stdout.write(`${home}${text.join('\r\n')}${clearBelow}`);
  };
  const end = (): void => {
    isOver = true;
    wake();
  };
  const restore = openScreen(end, draw);
  try {
    while (!isOver) {
      draw();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (isOver) break;
      try {
        await view.look();
        trouble = '';
      } catch (error) {
        // A server that restarts is back in a moment.
        trouble = messageOf(error);
      }
    }
  } finally {
    restore();
  }
  process.exit(0);
}

const alternate = '\u001b[?1049h\u001b[?25l';
const usual = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearToLineEnd = '\u001b[K';
const clearBelow = '\u001b[J';

const endKeys = ['q', 'Q', '\u0003'];

/**
 * Shows the terminal's alternate screen, without a cursor, and reads keys one by one.
 *
 * @param onEnd called if q or Ctrl-C is pressed, or a signal comes
 * @returns restores what the terminal showed before, as whatever ends the process does
 */
function openScreen(onEnd: () => void, onResize: () => void): () => void {
  const { stdin, stdout } = process;
  let isOpen = true;
  const restore = (): void => {
    if (!isOpen) return;
    isOpen = false;
    if (stdin.isTTY) stdin.setRawMode(false);
    stdout.write(usual);
  };
  stdout.write(alternate);
  stdout.on('resize', onResize);
  process.once('exit', restore);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onEnd);
  if (stdin.isTTY) {
    stdin.setRawMode(true);
    // One chunk may hold several keys that were typed fast.
    stdin.setEncoding('utf8').on('data', (keys: string) => {
      if (endKeys.some((key) => keys.includes(key))) onEnd();
    });
  }
  return restore;
}

/** A number without decimals, as people read it. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function perSecond(value: number): string {
  const digits = value > 0 && value < 10 ? 1 : 0;
  return `${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}/s`;
}

/** Seconds with three digits and a unit; `-` for undefined. */
export function showSeconds(seconds: number | undefined): string {
  if (seconds === undefined || Number.isNaN(seconds)) return '-';
  if (seconds === Number.POSITIVE_INFINITY) return '> 60 s';
  if (seconds < 0.001) return `${digits(seconds * 1e6)} us`;
  return seconds < 1 ? `${digits(seconds * 1000)} ms` : `${digits(seconds)} s`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

export function showBytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MB`;
}

/** A time span in its two largest units. */
export function showSpan(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3600)}h`;
}
