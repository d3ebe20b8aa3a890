import { escapeControls } from '../observe/escape.ts';

const styles = { key: 36, string: 32, number: 33, word: 35 } as const;

/** Whether a stream is a terminal whose owner wants colours, https://no-color.org. */
export function wantsColour(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR: noColour, TERM: term } = process.env;
  return stream.isTTY === true && (noColour === undefined || noColour === '') && term !== 'dumb';
}

/** A JSON value as people read it: indented, nothing in it can drive the terminal. */
export function prettyJson(value: unknown, colours: boolean): string {
  const text = (JSON.stringify(value, null, 2) ?? 'null')
    .split('\n')
    .map(escapeControls)
    .join('\n');
  return colours ? coloured(text) : text;
}

function coloured(text: string): string {
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;
  return text.replace(token, (whole, string?: string, colon?: string, word?: string) => {
    if (string !== undefined) {
      return colon === undefined ? paint(string, 'string') : `${paint(string, 'key')}${colon}`;
    }
    return paint(whole, word === undefined ? 'number' : 'word');
  });
}

function paint(text: string, style: keyof typeof styles): string {
  return `\u001b[${styles[style]}m${text}\u001b[39m`;
}

/** Columns of equal width; the last is as long as it is. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map(escapeControls));
  const count = Math.max(0, ...clean.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...clean.map((row) => row[column]?.length ?? 0)),
  );
  return clean.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** A line cut to the terminal's width; whole where there is none. */
export function fitted(line: string, columns: number | undefined): string {
  if (columns === undefined || columns < 20 || line.length <= columns) return line;
  return `${line.slice(0, columns - 3)}...`;
}
