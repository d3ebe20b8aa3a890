import { goodCall, type Input, parser } from './input.ts';
import { hiding } from './lengths.ts';

const size = `content-length: ${goodCall.length}`;

/** Never served, and nothing behind it: some parsers say so, others wait until the client ends its side. */
function malformed(cause: string, ...lines: readonly string[]): Input {
  return { ...hiding(cause, lines, goodCall, parser(4)), ends: true };
}

/** Lines of a head that are no header (RFC 9112, section 5). */
export const headerLines: readonly Input[] = [
  malformed('a length folded into the next line', `${size.replace(' ', '\r\n ')}`),
  malformed(
    'a Transfer-Encoding folded into the next line',
    size,
    'transfer-encoding:\r\n chunked',
  ),
  malformed('a header folded into the next line', 'x-a: 1\r\n x-b: 2', size),
  malformed('a header folded with a tab', 'x-a: 1\r\n\tx-b: 2', size),
  malformed('a blank before the colon of a length', size.replace(':', ' :')),
  malformed('a tab before the colon of a length', size.replace(':', '\t:')),
  malformed('a blank before the colon of a Transfer-Encoding', size, 'transfer-encoding : chunked'),
  malformed('a blank before the first header', ' x-a: 1', size),
  malformed('a header without a colon', 'x-a', size),
  malformed('a blank in the name of a header', 'x a: 1', size),
  malformed('a NUL in the name of a header', 'x\0a: 1', size),
  malformed('a letter beyond ASCII in the name of a header', 'x\xe9: 1', size),
  malformed('parentheses in the name of a header', 'x(a): 1', size),
  malformed('a NUL in the value of a header', 'x-a: 1\x002', size),
  malformed('a NUL behind the length', `${size}\0`),
  malformed('a carriage return in the value of a header', 'x-a: 1\rx-b: 2', size),
  malformed('a line feed alone between headers', `x-a: 1\n${size}`),
  malformed(
    'a line feed alone before a Transfer-Encoding',
    size,
    'x-a: 1\ntransfer-encoding: chunked',
  ),
  malformed('a control character in the value of a header', 'x-a: \x01', size),
];
