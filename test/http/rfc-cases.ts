/**
 * What h1spec (https://github.com/uNetworking/h1spec) and the Musts of Http11Probe (https://github.com/MDA2AV/Http11Probe) send, and
 * which answers RFC 9110, 9112 and 6455 allow. A GET is one of the document, and a POST is a call.
 */

/** A status; a class of them; `cut`: the connection closes without an answer; `waits`: nothing comes before the request goes on. */
export type Allowed = number | '2xx' | '4xx' | '5xx' | 'not 1xx' | 'cut' | 'waits';

export interface RfcCase {
  readonly name: string;
  readonly section: string;
  readonly bytes: Buffer;
  readonly allowed: readonly Allowed[];
  /** What the service gets as the body. */
  readonly body?: string;
  /** A header that the answer has, or has not. */
  readonly has?: string;
  readonly lacks?: string;
  readonly isHead?: boolean;
  /** The connection closes behind the answer. */
  readonly closes?: boolean;
}

type Row = readonly [name: string, section: string, text: string, ...allowed: Allowed[]];

const rows = (all: readonly Row[]): RfcCase[] =>
  all.map(([name, section, text, ...allowed]) => {
    return { name, section, bytes: Buffer.from(text, 'latin1'), allowed };
  });

/** A request of the document. @param lines each with its end */
const get = (lines: string, first = 'GET /rpc HTTP/1.1'): string =>
  `${first}\r\nHost: test\r\n${lines}\r\n`;

/** A call. @param lines each with its end */
const post = (lines: string, body: string, first = 'POST /rpc HTTP/1.1'): string =>
  `${first}\r\nHost: test\r\nContent-Type: application/json\r\n${lines}\r\n${body}`;

const chunked = 'Transfer-Encoding: chunked\r\n';
const chunks = (body: string): string => post(chunked, body);
const length = (value: string, body = 'hello'): string =>
  post(`Content-Length: ${value}\r\n`, body);
const socket =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

/** Http11Probe takes silence for a refusal, too: the connection ends at its idle timeout, and nothing has run. */
const bad = [400, 'cut', 'waits'] as const;

/** Where the parts of a request end: behind each of them a server waits for the next one. */
const pieces = 'G|ET |/rpc| |HTTP|/1.1|\r|\n|Hos|t:| |test|\r|\n|\r'.split('|');

const unfinished = rows(
  pieces.map((_, i): Row => {
    const text = pieces.slice(0, i + 1).join('');
    return [`a request that goes on behind ${JSON.stringify(text)}`, '9112, 2.2', text, 'waits'];
  }),
);

const startLines = rows([
  ['a request', '9112, 3', get(''), '2xx'],
  ['no version', '9112, 2.3', 'GET /rpc \r\n\r\n', '4xx', '5xx'],
  ['HTTP/9.9', '9112, 2.3', get('', 'GET /rpc HTTP/9.9'), '4xx', '5xx'],
  ['text before the method', '9112, 3', get('', 'Extra lineGET /rpc HTTP/1.1'), '4xx', '5xx'],
  ['a line that ends in CR', '9112, 2.2', 'GET /rpc HTTP/1.1\rHost: test\r\n\r\n', 400],
  ['no target', '9112, 3', get('', 'GET HTTP/1.1'), ...bad],
  ['the target * of a GET', '9112, 3.2.4', get('', 'GET * HTTP/1.1'), ...bad],
  ['the target * of OPTIONS', '9112, 3.2.4', get('', 'OPTIONS * HTTP/1.1'), '2xx'],
  ['HTTP/1', '9112, 2.3', get('', 'GET /rpc HTTP/1'), ...bad],
  ['HTTP/01.01', '9112, 2.3', get('', 'GET /rpc HTTP/01.01'), ...bad],
  ['a blank in the version', '9112, 2.3', get('', 'GET /rpc HTTP/ 1.1'), ...bad],
  ['the protocol in small letters', '9112, 2.3', get('', 'GET /rpc http/1.1'), ...bad],
  ['a blank in the target', '9112, 3.2', get('', 'GET /r pc HTTP/1.1'), ...bad],
  ['a NUL in the target', '9112, 3.2', get('', 'GET /\0rpc HTTP/1.1'), ...bad],
  ['UTF-8 in the target', '9112, 3.2', get('', 'GET /rpc\xc3\xa9 HTTP/1.1'), ...bad],
  ['overlong UTF-8 in the target', '9112, 3.2', get('', 'GET /\xc0\xaf HTTP/1.1'), ...bad],
]);

const headers = rows([
  [
    'blanks, an empty value, a name in any case',
    '9110, 5.5',
    get('').replace('Host: ', 'hoSt:\t').replace('\r\n\r\n', '\r\nempty:\r\n\r\n'),
    '2xx',
  ],
  ['an empty value', '9110, 5.5', get('X-Empty-Header: \r\n'), '2xx'],
  ['brackets in a name', '9112, 5', get('X-Invalid[]: test\r\n'), 400],
  ['BEL in a value', '9110, 5.5', get('X-Test: test\x07\r\n'), 400],
  ['BEL, BS and VT in a value', '9110, 5.5', get('X-Test: abc\x07\x08\x0bdef\r\n'), ...bad],
  ['NUL in a value', '9110, 5.5', get('X-Test: val\0ue\r\n'), ...bad],
  ['CR in a value', '9112, 2.2', post('Content-Length: 5\r\nX-Test: val\rue\r\n', 'hello'), ...bad],
  ['CR behind the headers', '9112, 2.2', get('\rSome-Header: Test\r\n'), 400],
  ['a folded line', '9112, 5.2', get('X-Test: value\r\n continued\r\n'), 400],
  ['a blank before the colon', '9112, 5.1', get('X-Test : value\r\n'), 400],
  ['an empty name', '9112, 5', get(': empty-name\r\n'), ...bad],
  ['a line without a colon', '9112, 5', get('NoColonHere\r\n'), ...bad],
  [
    'a blank line before the first header',
    '9112, 2.2',
    get('').replace('Host', ' \r\nHost'),
    ...bad,
  ],
  ['UTF-8 in a name', '9112, 5', get('X-T\xc3\xabst: value\r\n'), ...bad],
  [
    'a second length with a blank before its colon',
    '9112, 5.1',
    length('5\r\nContent-Length : 4'),
    ...bad,
  ],
  ['a tab in a name', '9112, 5', length('5\r\nContent\tLength: 4'), ...bad],
  ['parentheses in a name', '9112, 5', get('x(a): 1\r\n'), ...bad],
  ['a line feed alone behind a header', '9112, 2.2', length('5\r\nX-Test: a\nX-Test: b'), ...bad],
  [
    'a line feed alone before a Transfer-Encoding',
    '9112, 2.2',
    length('5\r\nX-Test: a\nTransfer-Encoding: chunked'),
    ...bad,
  ],
]);

const host = (line: string): string => `GET /rpc HTTP/1.1\r\n${line}\r\n`;

const hosts = rows([
  ['no Host', '9112, 3.2', host(''), 400],
  ['a length and no Host', '9112, 3.2', host('Content-Length: 5\r\n'), 400],
  ['two Hosts', '9112, 3.2', host('Host: test\r\nHost: other.example\r\n'), 400],
  ['two Hosts that are the same', '9112, 3.2', host('Host: test\r\nHost: test\r\n'), 400],
  ['two Hosts in a list', '9112, 3.2', host('Host: test, other.example\r\n'), 400],
  ['an empty Host', '9112, 3.2', host('Host: \r\n'), ...bad],
  ['a user in Host', '9112, 3.2', host('Host: user@test\r\n'), ...bad],
  ['a path in Host', '9112, 3.2', host('Host: test/path\r\n'), ...bad],
]);

const wrongLengths = [
  'abc',
  '+5',
  '-1',
  '-1234',
  `-${'123456789'.repeat(3)}`,
  '5, 10',
  '0x5',
  '0o5',
  '1_0',
  '1 0',
  '-0',
  '',
];

const lengths = rows([
  ...wrongLengths.map(
    (value): Row => [`the length "${value}"`, '9110, 8.6', length(value), ...bad],
  ),
  ['two lengths', '9112, 6.3', length('5\r\nContent-Length: 10', 'helloworld'), ...bad],
  ['a length of 20 digits', '9110, 8.6', length('9'.repeat(20), ''), ...bad, 413],
  ['a length of 999999999', '9110, 8.6', length('999999999', ''), ...bad, 413],
  ['a body that is not whole', '9112, 6.3', length('10'), ...bad],
]);

const coding = (lines: string, body = '0\r\n\r\n'): string => post(lines, body);

const codings = rows([
  ['Transfer-Encoding: gzip', '9112, 6.1', coding('Transfer-Encoding: gzip\r\n', ''), ...bad, 501],
  ['chunked before gzip', '9112, 6.1', coding('Transfer-Encoding: chunked, gzip\r\n'), ...bad],
  [
    'chunks in HTTP/1.0',
    '9112, 6.1',
    post(`${chunked}Content-Length: 5\r\n`, 'hello', 'POST /rpc HTTP/1.0'),
    ...bad,
  ],
  ...[
    'xchunked',
    'identity',
    '',
    'chunked ',
    '\x0bchunked',
    '\x0cchunked',
    'chunked\0',
    '\r\n chunked',
    ' , chunked',
    'Chunked',
    'chunked\r\nTransfer-Encoding: identity',
  ].map(
    (value): Row => [
      `a length, and Transfer-Encoding: ${JSON.stringify(value)}`,
      '9112, 6.3',
      coding(`Content-Length: 5\r\nTransfer-Encoding: ${value}\r\n`),
      ...bad,
      501,
    ],
  ),
  [
    'a length, and Transfer-Encoding with a blank before its colon',
    '9112, 5.1',
    coding('Transfer-Encoding : chunked\r\nContent-Length: 5\r\n', 'hello'),
    ...bad,
  ],
  [
    'OPTIONS with a length and a folded Transfer-Encoding',
    '9112, 5.2',
    get('Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n', 'OPTIONS /rpc HTTP/1.1') +
      'hello',
    ...bad,
  ],
]);

const hidden = get('');

/** A second request that only a server that loses its place would answer. */
const smuggling = rows(
  [
    ['a length and chunks', `Content-Length: 6\r\n${chunked}`, '0\r\n\r\nX'],
    ['chunks and a length', `${chunked}Content-Length: 30\r\n`, '0\r\n\r\nX'],
    [
      'a length and chunks, a GET behind',
      `Content-Length: ${5 + hidden.length}\r\n${chunked}`,
      `0\r\n\r\n${hidden}`,
    ],
    [
      'a length and chunks, a HEAD behind',
      `Content-Length: ${6 + hidden.length}\r\n${chunked}`,
      `0\r\n\r\n${hidden.replace('GET', 'HEAD')}`,
    ],
    [
      'a length with a plus and chunks, a GET behind',
      `Content-Length: +${5 + hidden.length}\r\n${chunked}`,
      `0\r\n\r\n${hidden}`,
    ],
    [
      'a length with a letter and chunks, a GET behind',
      `Content-Length: ${5 + hidden.length}x\r\n${chunked}`,
      `0\r\n\r\n${hidden}`,
    ],
    [
      'chunks and a length, a GET in a chunk',
      `${chunked}Content-Length: 4\r\n`,
      `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    ],
    [
      'two lengths, a GET behind the shorter',
      `Content-Length: 4\r\nContent-Length: ${4 + hidden.length}\r\n`,
      `PING${hidden}`,
    ],
    ['a chunk size with a plus, then X', chunked, '+0\r\n\r\nX'],
  ].map(
    ([name = '', lines = '', body = '']): Row => [name, '9112, 6.3', post(lines, body), ...bad],
  ),
);

const wrongChunks = [
  '5;',
  '5;bad[=x',
  '5;\0ext',
  '5;a\rX',
  '1_0',
  '0x5',
  '+5',
  '-1',
  ' 5',
  '5 ',
  '5\r',
  'FFFFFFFFFFFFFFFF0',
];

const chunkSizes = rows([
  ...wrongChunks.map(
    (size): Row => [
      `the chunk size ${JSON.stringify(size)}`,
      '9112, 7.1',
      chunks(`${size}${size === '5\r' ? '' : '\r\n'}hello\r\n0\r\n\r\n`),
      ...bad,
    ],
  ),
  ['a chunk that no CRLF ends', '9112, 7.1', chunks('5\r\nhello0\r\n\r\n'), ...bad],
  [
    'a chunk that is longer than its size',
    '9112, 7.1',
    chunks('5\r\nhello!!\r\n0\r\n\r\n'),
    ...bad,
  ],
  ['chunks without the last one', '9112, 7.1', chunks('5\r\nhello\r\n'), ...bad],
]);

const served = (name: string, section: string, text: string, body: string): RfcCase => ({
  name,
  section,
  bytes: Buffer.from(text),
  allowed: ['2xx'],
  body,
});

const bodies = [
  served('a body', '9112, 6.2', length('5'), 'hello'),
  served('an empty body', '9112, 6.2', length('0', ''), ''),
  served('chunks', '9112, 7.1', chunks('c\r\nHellO world1\r\n0\r\n\r\n'), 'HellO world1'),
  served(
    'two chunks',
    '9112, 7.1',
    chunks('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'),
    'hello world',
  ),
  served('no chunk but the last', '9112, 7.1', chunks('0\r\n\r\n'), ''),
  served('a chunk extension', '9112, 7.1.1', chunks('5;ext=value\r\nhello\r\n0\r\n\r\n'), 'hello'),
  served('a trailer', '9112, 7.1.2', chunks('5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\n'), 'hello'),
  served('a size in capitals', '9112, 7.1', chunks('A\r\nhelloworld\r\n0\r\n\r\n'), 'helloworld'),
  served('a Range of a POST', '9110, 14.2', length('5\r\nRange: bytes=0-10'), 'hello'),
];

const upgrades = rows([
  [
    'a POST that asks for a WebSocket',
    '6455, 4.1',
    get(socket, 'POST /rpc HTTP/1.1'),
    'not 1xx',
    'cut',
  ],
  [
    'a WebSocket without Connection',
    '9110, 7.8',
    get(socket.replace('Connection: Upgrade\r\n', '')),
    'not 1xx',
    'cut',
  ],
  [
    'an upgrade that nobody knows',
    '9110, 7.8',
    get('Connection: Upgrade\r\nUpgrade: totally-made-up/1.0\r\n'),
    'not 1xx',
    'cut',
  ],
  ['a WebSocket of version 99', '6455, 4.4', get(socket.replace('13', '99')), 426],
  ['a WebSocket in HTTP/1.0', '9110, 7.8', get(socket, 'GET /rpc HTTP/1.0'), 'not 1xx', 'cut'],
  [
    '100-continue in HTTP/1.0',
    '9110, 10.1.1',
    post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello', 'POST /rpc HTTP/1.0'),
    'not 1xx',
    'cut',
  ],
]);

const one = (more: Partial<RfcCase>, ...row: Row): RfcCase[] =>
  rows([row]).map((each) => ({ ...each, ...more }));

const answers = [
  ...one({}, '100-continue of a GET', '9110, 10.1.1', get('Expect: 100-continue\r\n'), '2xx'),
  ...one({}, 'a POST without a length', '9112, 6.3', post('', ''), '2xx', 411),
  ...one({ closes: true }, 'Connection: close', '9112, 9.3', get('Connection: close\r\n'), '2xx'),
  ...one({ isHead: true }, 'HEAD', '9110, 9.3.2', get('', 'HEAD /rpc HTTP/1.1'), '2xx'),
  ...one({ has: 'allow' }, 'DELETE', '9110, 15.5.6', get('', 'DELETE /rpc HTTP/1.1'), 405),
  ...one({ has: 'date' }, 'the Date of an answer', '9110, 6.6.1', get(''), '2xx'),
  ...one(
    { lacks: 'content-length' },
    'OPTIONS',
    '9110, 8.6',
    get('', 'OPTIONS /rpc HTTP/1.1'),
    204,
  ),
];

export const rfcCases: readonly RfcCase[] = [
  ...unfinished,
  ...startLines,
  ...headers,
  ...hosts,
  ...lengths,
  ...codings,
  ...smuggling,
  ...chunkSizes,
  ...bodies,
  ...upgrades,
  ...answers,
];

/** What uWebSockets.js answers instead, by the names of the cases. On node:http no case fails. */
export const uwsFaults: Readonly<Record<string, readonly string[]>> = {
  '505 for a first line that it does not take, and it closes': [
    'a line that ends in CR',
    'no target',
    'the target * of a GET',
    'the target * of OPTIONS',
    'HTTP/1',
    'HTTP/01.01',
    'a blank in the version',
    'the protocol in small letters',
    'a blank in the target',
    'a NUL in the target',
    'chunks in HTTP/1.0',
  ],
  'the request without the header, and without those behind it': ['an empty name'],
  'what it takes for the chunks, and it closes': [
    'the chunk size " 5"',
    'the chunk size "5 "',
    'a chunk that no CRLF ends',
    'a chunk that is longer than its size',
    'a chunk extension',
    'a trailer',
  ],
};

/** What its binary for Node 20 answers instead, beside those. */
export const oldBinaryFaults: typeof uwsFaults = {
  '505 for a first line that is not whole': unfinished.slice(1, 7).map(({ name }) => name),
  'silence until the connection is idle for 10 s': [
    'brackets in a name',
    'BEL in a value',
    'CR behind the headers',
    'a folded line',
    'a blank before the colon',
    'no Host',
  ],
};
