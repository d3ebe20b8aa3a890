import fc from 'fast-check';
import { post, request } from '../../http/raw-client.ts';

/** One change of a request's bytes. As data, so that a failure shrinks to the changes that matter. */
type Edit =
  | { readonly kind: 'insert'; readonly at: number; readonly piece: string }
  | {
      readonly kind: 'replace';
      readonly at: number;
      readonly length: number;
      readonly piece: string;
    }
  | { readonly kind: 'repeat'; readonly at: number; readonly length: number }
  | { readonly kind: 'byte'; readonly at: number; readonly value: number }
  | { readonly kind: 'cut'; readonly at: number };

/** What matters to a parser of HTTP. */
const pieces = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ',',
  '0',
  '9',
  'HTTP/1.1',
  'HTTP/1.0',
  'GET /rpc HTTP/1.1\r\n',
  'POST ',
  'host: other\r\n',
  'content-length: 0\r\n',
  'Content-Length: 5\r\n',
  'content-length: 1000\r\n',
  'content-length: 99999999999\r\n',
  'transfer-encoding: chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  ' transfer-encoding: chunked\r\n',
  'transfer-encoding : chunked\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  '5;a=b\r\n',
  'x: y\r\n\r\n',
  'connection: close\r\n',
  'connection: keep-alive\r\n',
  'expect: 100-continue\r\n',
  'upgrade: websocket\r\nconnection: upgrade\r\n',
  'content-type: text/plain\r\n',
  'content-encoding: gzip\r\n',
  'rpc-timeout-ms: 60000\r\n',
  `x-long: ${'a'.repeat(5000)}\r\n`,
  'x: y\r\n'.repeat(120),
  '\xff',
  '{}',
];

const at = fc.nat({ max: 600 });
const length = fc.integer({ min: 1, max: 40 });
const piece = fc.constantFrom(...pieces);

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), at, piece }),
  fc.record({ kind: fc.constant('replace' as const), at, length, piece }),
  fc.record({ kind: fc.constant('repeat' as const), at, length: fc.integer({ min: 1, max: 400 }) }),
  fc.record({ kind: fc.constant('byte' as const), at, value: fc.nat({ max: 255 }) }),
  fc.record({ kind: fc.constant('cut' as const), at }),
);

/** Half of the changes begin at a line: that is where headers are. */
function place(text: string, at: number): number {
  if (text.length === 0) return 0;
  const raw = at % text.length;
  if (at % 2 === 0) return raw;
  const line = text.indexOf('\n', raw);
  return line === -1 ? raw : line + 1;
}

function apply(text: string, one: Edit): string {
  const start = place(text, one.at);
  const head = text.slice(0, start);
  switch (one.kind) {
    case 'insert':
      return head + one.piece + text.slice(start);
    case 'replace':
      return head + one.piece + text.slice(start + one.length);
    case 'repeat':
      return head + text.slice(start, start + one.length) + text.slice(start);
    case 'byte':
      return head + String.fromCharCode(one.value) + text.slice(start + 1);
    case 'cut':
      return head;
  }
}

/** Each call has an id of its own, so that an answer given twice shows. */
function call(place: string, id: string): Buffer {
  return post(`{"jsonrpc":"2.0","method":"${place}any","params":{"a":[1,"x"]},"id":"${id}"}`);
}

/** The same call in chunks. */
function chunked(place: string, id: string): Buffer {
  const bytes = call(place, id);
  const body = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).toString();
  const head = post('', { 'content-length': undefined, 'transfer-encoding': 'chunked' });
  const [begin, rest] = [body.slice(0, 20), body.slice(20)];
  const sized = [begin, rest].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return Buffer.concat([head, Buffer.from(`${sized.join('')}0\r\n\r\n`)]);
}

const long = JSON.stringify({ method: 'in.any', params: { a: 'x'.repeat(300) }, id: 'long' });

/** Right as they are. HEAD is left out: whether a body follows could not be told from the bytes. */
const bases: Readonly<Record<string, Buffer>> = {
  'an inline call': call('in.', 'one'),
  'a pooled call': call('out.', 'one'),
  'a chunked call': chunked('in.', 'one'),
  'a chunked pooled call': chunked('out.', 'one'),
  'a chunked call, then another': Buffer.concat([chunked('in.', 'one'), call('in.', 'two')]),
  'two inline calls': Buffer.concat([call('in.', 'one'), call('in.', 'two')]),
  'a refused one, then a call': Buffer.concat([
    post('{}', { 'content-type': 'text/plain' }),
    call('in.', 'one'),
  ]),
  'a batch': post('[{"method":"in.any","id":"one"},{"method":"out.any","id":"two"}]'),
  'a notification, then a call': Buffer.concat([post('{"method":"in.any"}'), call('in.', 'one')]),
  'a long call': post(long, { accept: '*/*', 'user-agent': 'test', 'x-a': 'b' }),
  'the document': Buffer.from(request('GET', '/rpc')),
  'the health, then a call': Buffer.concat([
    Buffer.from(request('GET', '/healthz')),
    call('in.', 'one'),
  ]),
  'a preflight': Buffer.from(request('OPTIONS', '/rpc', ['origin: https://a.example'])),
};

export interface HttpCase {
  readonly base: string;
  readonly edits: readonly Edit[];
  /** Where the bytes are cut into several writes. */
  readonly cuts: readonly number[];
}

export const httpCase: fc.Arbitrary<HttpCase> = fc.record({
  base: fc.constantFrom(...Object.keys(bases)),
  edits: fc.array(edit, { minLength: 0, maxLength: 4 }),
  cuts: fc.array(at, { maxLength: 2 }),
});

export function bytesOf({ base, edits }: HttpCase): Buffer {
  const text = (bases[base] as Buffer).toString('latin1');
  return Buffer.from(edits.reduce(apply, text), 'latin1');
}

/** The writes the bytes go out in. The first line stays whole: uWebSockets.js refuses it in parts. */
export function writesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const line = bytes.indexOf('\n') + 1;
  const places = cuts
    .map((cut) => cut % (bytes.length + 1))
    .filter((cut) => cut >= line && line > 0);
  const sorted = [0, ...places.toSorted((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end));
}
