import type { IncomingMessage } from 'node:http';
import type { RequestHead } from '../edge/request-head.ts';

/** Fills `head`, which was reset, with the headers as they came. */
export function readHead(head: RequestHead, { rawHeaders, httpVersion }: IncomingMessage): void {
  head.isOld = httpVersion === '1.0';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    head.add((rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '');
  }
}
