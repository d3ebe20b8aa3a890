import { escapeControls } from '../core/base/escape.ts';
import type { Log } from '../core/observe/log.ts';
import type { ReadyReport } from '../server/process/channel.ts';

/** Several lines as one. Splits the text: a pattern with \s* at both ends takes quadratic time on long blanks. */
export function joinLines(text: string): string {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
}

/** Columns of equal width. The last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map(escapeControls));
  const widths = widthsOf(clean);
  return clean.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Least width that the last column of a table keeps, whatever stands before it. */
const minOfLast = 20;
const minOfOthers = 8;

/**
 * Rows for a table of this width. If the other columns leave no room for the last one, the longest cells of the
 * columns between the first and the last are cut. Rows are unchanged if no width is given, or if the width is
 * too small to leave anything readable.
 */
export function narrowed(
  rows: readonly (readonly string[])[],
  columns: number | undefined,
): readonly (readonly string[])[] {
  if (columns === undefined) return rows;
  const clean = rows.map((row) => row.map(escapeControls));
  const widths = widthsOf(clean);
  const between = widths.slice(1, -1).sort((a, b) => a - b);
  let room = columns - (widths[0] ?? 0) - 2 * (widths.length - 1);
  room -= Math.min(widths.at(-1) ?? 0, minOfLast);
  let most = Number.POSITIVE_INFINITY;
  for (const [index, width] of between.entries()) {
    const share = Math.floor(room / (between.length - index));
    if (width > share) {
      most = share;
      break;
    }
    room -= width;
  }
  if (most < minOfOthers) return rows;
  const cut = (text: string): string =>
    text.length > most ? `${text.slice(0, most - 3)}...` : text;
  return clean.map((row) =>
    row.map((cell, column) => (column === 0 || column === row.length - 1 ? cell : cut(cell))),
  );
}

/** Row by row: a call of Math.max with an argument for each of 200,000 rows would overflow the stack. */
function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  return widths;
}

/** A line cut to the terminal's width; the whole line if there is none. */
export function fitted(line: string, columns: number | undefined): string {
  if (columns === undefined || columns < 20 || line.length <= columns) return line;
  return `${line.slice(0, columns - 3)}...`;
}

/**
 * What a call gives, in one line.
 *
 * @param returned the type of the result
 * @param yields the type of a stream's values; undefined: it is no stream
 */
export function resultText(returned: string, yields: string | undefined): string {
  if (yields === undefined) return returned;
  return `stream of ${yields}${returned === 'unknown' ? '' : `, then ${returned}`}`;
}

/**
 * Says that the service is ready, and how long the start took since this process began: the banner on a terminal, one
 * line of the log elsewhere. The user started this process.
 */
export function tellReady(
  { banner, facts }: Pick<ReadyReport, 'banner' | 'facts'>,
  log: Log,
): void {
  const ms = Math.round(process.uptime() * 1000);
  if (process.stdout.isTTY) process.stdout.write(`${banner}Ready in ${ms} ms.\n`);
  else log.info({ event: 'serving', ...facts, ms }, banner.slice(0, banner.indexOf('\n')));
}
