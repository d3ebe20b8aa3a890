import { escapeControls } from '../../core/base/escape.ts';

/** Whether a stream is a terminal whose owner wants colours, https://no-color.org. */
export function wantsColour(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR: noColour, TERM: term } = process.env;
  return stream.isTTY === true && (noColour === undefined || noColour === '') && term !== 'dumb';
}

const styles = { name: 36, string: 32, number: 33, word: 35 } as const;

/** JSON text as people read it: indented. Characters that could drive the terminal are escaped. */
export function prettyJson(json: string, colours: boolean): string {
  return layOut(json, true, (text, isName) => {
    const clean = escapeControls(text);
    if (!colours) return clean;
    const value = clean.startsWith('"') ? 'string' : /^[tfn]/.test(clean) ? 'word' : 'number';
    return `\u001b[${styles[isName ? 'name' : value]}m${clean}\u001b[39m`;
  });
}

/** JSON text on one line, for programs. */
export function compactJson(json: string): string {
  return layOut(json, false, (text) => text);
}

/** Deepest indentation. A reply may nest a million levels: deeper lines are indented no further. */
const deepestIndent = 100;

/**
 * Lays JSON text out anew. Values stay as they were written, so that numbers keep all their digits. Nothing recurses.
 *
 * @param text valid JSON
 * @param hasLines true: one member or element a line; false: all on one line
 * @param paint gives the text to print for a value or a name
 */
function layOut(
  text: string,
  hasLines: boolean,
  paint: (text: string, isName: boolean) => string,
): string {
  let output = '';
  let depth = 0;
  let wasBegin = false;
  const line = (): string => (hasLines ? `\n${'  '.repeat(Math.min(depth, deepestIndent))}` : '');
  forEachToken(text, (token, end) => {
    const next = text.charAt(skipSpace(text, end));
    if (isBegin(token)) {
      depth += 1;
      output += isEnd(next) ? token : token + line();
    } else if (isEnd(token)) {
      depth -= 1;
      output += wasBegin ? token : line() + token;
    } else if (token === ',') output += token + line();
    else if (token === ':') output += hasLines ? ': ' : token;
    else output += paint(token, next === ':');
    wasBegin = isBegin(token);
  });
  return output;
}

/**
 * The text of an object's member as it was written. Of several members of one name the last counts, as for
 * JSON.parse.
 *
 * @param text valid JSON, an object
 * @returns undefined if there is no such member
 */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0;
  let from: number | undefined;
  let found: string | undefined;
  let last = '';
  forEachToken(text, (token, end) => {
    if (token === ':' && depth === 1) from = JSON.parse(last) === name ? end : undefined;
    if (isEnd(token)) depth -= 1;
    if (from !== undefined && (depth === 0 || (depth === 1 && token === ','))) {
      found = text.slice(from, end - 1).trim();
      from = undefined;
    }
    if (isBegin(token)) depth += 1;
    last = token;
  });
  return found;
}

function isBegin(token: string): boolean {
  return token === '{' || token === '[';
}

function isEnd(token: string): boolean {
  return token === '}' || token === ']';
}

const punctuation = '{}[],:';

/** A loop instead of a pattern: a pattern that matches strings overflows the stack on long ones. */
function forEachToken(text: string, visit: (token: string, end: number) => void): void {
  for (let start = skipSpace(text, 0); start < text.length; ) {
    const end = endOfToken(text, start);
    visit(text.slice(start, end), end);
    start = skipSpace(text, end);
  }
}

function endOfToken(text: string, start: number): number {
  let end = start + 1;
  if (text[start] === '"') {
    while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    return end + 1;
  }
  if (punctuation.includes(text.charAt(start))) return end;
  while (end < text.length && !/[\s{}[\],:"]/.test(text.charAt(end))) end += 1;
  return end;
}

function skipSpace(text: string, start: number): number {
  let end = start;
  while (' \t\r\n'.includes(text[end] ?? '-')) end += 1;
  return end;
}
