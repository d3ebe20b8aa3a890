import { post, request, rpc } from '../../raw-client.ts';
import {
  cut,
  differing,
  goodCall,
  type Input,
  parser,
  raw,
  refusedAndClosed,
  type Wanted,
} from './input.ts';

/** Runs on a server that lost its place: it stands where another request's body is, or behind its end. */
const smuggled = post(rpc('echo', 'smuggled', 'smuggled'));

const { length } = goodCall;

/** A call whose head is given line by line, with a request hidden behind it. */
function hiding(cause: string, lines: readonly string[], body: string, wanted: Wanted): Input {
  const head = ['POST /rpc HTTP/1.1', 'host: test', 'content-type: application/json', ...lines];
  const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1');
  return raw(cause, Buffer.concat([bytes, smuggled]), wanted);
}

const own = 'uWebSockets.js hands it to us, node:http refuses it in its own words';

/** Refused by us on uWebSockets.js, by the parser itself on node:http. */
function ours(input: Input, status: number): Input {
  return differing(input, { uws: refusedAndClosed(status), node: parser(4) }, own);
}

const length400 = (cause: string, ...values: readonly string[]) =>
  ours(
    hiding(
      cause,
      values.map((value) => `content-length:${value}`),
      goodCall,
      parser(4),
    ),
    400,
  );

const twoLengths = `${request('HEAD', '/rpc', ['content-length: 2', 'content-length: 5'])}{}`;

/** One coding that nobody knows: 501. */
const transfer501 = (cause: string, value: string) =>
  hiding(cause, [`transfer-encoding:${value}`], '', refusedAndClosed(501));

/** Several codings: where the body ends is not certain. */
const transfer400 = (cause: string, ...lines: readonly string[]) =>
  hiding(cause, lines, '0\r\n\r\n', refusedAndClosed(400));

const chunked = 'transfer-encoding: chunked';

/** Chunks that neither parser reads. */
const malformed = (cause: string, body: string) => hiding(cause, [chunked], body, parser(4));

/** Chunks that uWebSockets.js reads as a body with a request behind it: then it runs neither, and closes. */
const misread = (cause: string, body: string) =>
  differing(
    hiding(cause, [chunked], body, parser(4)),
    { uws: parser(4, 5), node: parser(4) },
    'uWebSockets.js takes the end of the body to be elsewhere, and runs neither the call nor what stands behind',
  );

/**
 * What leaves in doubt where a request ends: never served, and nothing behind it is either (docs/protocol.md,
 * "POST /rpc" and "What the transport decides").
 */
export const lengths: readonly Input[] = [
  hiding('TE.CL', [chunked, 'content-length: 3'], '8\r\nSMUGGLED\r\n0\r\n\r\n', parser(4)),
  hiding('CL.TE with a length of 0', ['content-length: 0', chunked], '0\r\n\r\n', parser(4)),
  hiding(
    'CL.TE with a Transfer-Encoding that nobody knows',
    ['content-length: 0', 'transfer-encoding: tandem'],
    '',
    parser(4),
  ),

  malformed('chunked, and the body is not', goodCall),
  misread('a chunk that ends in a line feed alone', '2\n{}\n0\n\n'),
  misread('a trailer that gives a length', '2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n'),
  transfer501('Transfer-Encoding: gzip', ' gzip'),
  transfer501('Transfer-Encoding: identity', ' identity'),
  transfer501('Transfer-Encoding: xchunked', ' xchunked'),
  transfer501('Transfer-Encoding: chunked with a parameter', ' chunked;q=1'),
  transfer501('Transfer-Encoding: chunked in quotes', ' "chunked"'),
  transfer501('an empty Transfer-Encoding', ''),
  transfer400('gzip before chunked', 'transfer-encoding: gzip, chunked'),
  transfer400('identity before chunked, in two headers', 'transfer-encoding: identity', chunked),
  ours(transfer400('two Transfer-Encodings that are chunked', chunked, chunked), 400),
  ours(transfer400('a comma behind chunked', 'transfer-encoding: chunked,'), 400),
  transfer400('a comma before chunked', 'transfer-encoding: , chunked'),
  ours(transfer400('chunked before identity', 'transfer-encoding: chunked, identity'), 400),
  ours(transfer400('chunked before gzip', 'transfer-encoding: chunked, gzip'), 400),
  ours(transfer400('two Transfer-Encoding headers', chunked, 'transfer-encoding: identity'), 400),
  transfer400('identity and a length', 'transfer-encoding: identity', 'content-length: 5'),
  ours(transfer400('no coding and a length', 'transfer-encoding:', 'content-length: 5'), 400),

  length400('two lengths that are the same', `${length}`, `${length}`),
  length400('two lengths, the first shorter', '3', `${length}`),
  length400('two lengths, the last shorter', `${length}`, '3'),
  ours(
    raw('two lengths of a HEAD', Buffer.concat([Buffer.from(twoLengths), smuggled]), parser(4)),
    400,
  ),
  length400('two lengths in a list', `${length}, ${length}`),
  length400('a length with a plus', `+${length}`),
  length400('a length with an exponent', '5e1'),
  length400('a length with a fraction', `${length}.0`),
  length400('a length in words', 'all'),
  length400('a length that is no ASCII digit', '\xb2'),
  length400('a length and a comment', `${length};`),
  ours(
    hiding(
      'a length beyond every integer',
      [`content-length: ${'9'.repeat(40)}`],
      goodCall,
      parser(4),
    ),
    413,
  ),
  ours(
    hiding(
      'a length of 2^64 and a little',
      ['content-length: 18446744073709551673'],
      goodCall,
      parser(4),
    ),
    413,
  ),
  raw(
    'a length above eight times the limit',
    post('', { 'content-length': String(80 * 1024 * 1024 + 1) }),
    refusedAndClosed(413),
  ),
  differing(
    raw('a body that ends before its length', post(goodCall).subarray(0, -1), cut, { ends: true }),
    { uws: cut, node: parser(4) },
    'node:http tells a client that ended its side what is missing',
  ),
];
