import {
  cut,
  differing,
  type Input,
  parser,
  parserAtEnd,
  raw,
  refused,
  type Wanted,
} from './input.ts';

/** A whole head, as it stands; what parsers call it, 400 or 505, is their own. */
function head(cause: string, bytes: string, wanted: Wanted = parser(4, 5)): Input {
  return raw(cause, Buffer.from(bytes, 'latin1'), wanted);
}

const served: Wanted = { how: 'document' };
const patient = 'node:http passes over blanks and empty lines, as RFC 9112 allows';
const relative = 'uWebSockets.js takes a path alone';

/** Any other method is a 405 where it gets to us. */
function method(cause: string, name: string): Input {
  const input = head(cause, `${name}/rpc HTTP/1.1\r\n${host}`);
  const uws = refused(405, 'POST, GET, HEAD, OPTIONS');
  return differing(input, { uws, node: parser(4) }, 'node:http knows the methods there are');
}

const host = 'host: test\r\n\r\n';

/** First lines that are no request of HTTP/1.1 (docs/protocol.md, "What the transport decides"). */
export const startLines: readonly Input[] = [
  head('lines that end in line feeds alone', 'GET /rpc HTTP/1.1\nhost: test\n\n'),
  head('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  head('a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
  head('an HTTP response in place of a request', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  head('a body without a request', '{"method":"echo","id":1}\r\n\r\n', parserAtEnd(4, 5)),
  head('SMTP', 'HELO test\r\nMAIL FROM:<a>\r\n\r\n'),
  head('FTP', 'USER test\r\nPASS test\r\n\r\n'),
  head('Redis', '*1\r\n$4\r\nPING\r\n\r\n', parserAtEnd(4, 5)),
  head('10,000 NULs', '\0'.repeat(10_000)),
  head('a backslash as the target', `GET \\rpc HTTP/1.1\r\n${host}`),
  differing(
    head('HTTP/1.0', `GET /rpc HTTP/1.0\r\n${host}`),
    { uws: parser(5), node: parser(2) },
    'node:http speaks it, and closes behind it',
  ),
  differing(
    head('HTTP/0.9', 'GET /rpc\r\n\r\n'),
    { uws: parser(5), node: parser(2) },
    'node:http takes it for HTTP/1.0, and closes behind it',
  ),
  differing(
    head('HTTP/2.0', `GET /rpc HTTP/2.0\r\n${host}`),
    { uws: parser(5), node: parser(2) },
    'node:http reads it like HTTP/1.0, and closes behind it',
  ),
  differing(
    head('CONNECT', `CONNECT test:80 HTTP/1.1\r\n${host}`),
    { uws: parser(5), node: cut },
    'node:http closes where nobody listens for it',
  ),
  differing(
    head('two blanks before the target', `GET  /rpc HTTP/1.1\r\n${host}`),
    { uws: parser(5), node: served },
    patient,
  ),
  differing(
    head('two blanks behind the target', `GET /rpc  HTTP/1.1\r\n${host}`),
    { uws: parser(5), node: served },
    patient,
  ),
  differing(
    head('an empty line before the request line', `\r\nGET /nowhere HTTP/1.1\r\n${host}`),
    { uws: parserAtEnd(4, 5), node: refused(404) },
    patient,
  ),
  differing(
    head('the whole URL as the target', `POST http://test/rpc HTTP/1.1\r\n${host}`),
    { uws: parser(5), node: refused(404) },
    relative,
  ),
  differing(
    head('a probe of a load balancer in HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n'),
    { uws: parser(5), node: parser(2) },
    'node:http speaks it, and closes behind it',
  ),
  head('a range of a document', `GET /rpc HTTP/1.1\r\nrange: bytes=0-1\r\n${host}`, served),
  method('a start line without a method', ' '),
  method('a method in small letters', 'get '),
  method('a method that nobody knows', 'BREW '),
  method('a method with a mark that is no letter', 'G{T '),
];
