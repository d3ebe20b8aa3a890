import type { HttpResponse } from 'uWebSockets.js';
import { nativeText } from './native-text.ts';

export const closeLines = ['connection', 'close'];

/** @param lines flat: name, value, name, value */
export function writeLines(res: HttpResponse, lines: readonly string[]): void {
  for (let i = 0; i < lines.length; i += 2) {
    res.writeHeader(lines[i] ?? '', nativeText(lines[i + 1] ?? ''));
  }
}

/**
 * Ends the reply to a HEAD. The length is written as a header: given a length, endWithoutBody takes the reply for
 * unfinished and closes the connection at the next request.
 */
export function endHead(res: HttpResponse, bytes: number): void {
  res.writeHeader('content-length', String(bytes));
  res.endWithoutBody();
}
