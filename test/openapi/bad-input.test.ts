/** What no client should send: each has its status and a problem document, and nothing of it runs. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { suiteLifetime } from '../harness.ts';
import { header, type RawClient, type RawResponse } from '../http/raw-client.ts';
import type { ServerName } from '../servers.ts';
import { openSite, ownServers, type Problem, problemOf, type Site } from './site.ts';

interface BadInput {
  readonly what: string;
  /** A request line and headers beside the Host, as they are written. */
  readonly head: readonly string[];
  readonly body?: string | Buffer;
  readonly status: number;
  readonly code: number;
  /** The path of the argument that is refused. */
  readonly path?: string;
  /** The parser of node:http refuses it, and says nothing. */
  readonly server?: ServerName;
}

const json = 'content-type: application/json';

/** A POST of a body to `save`, which must not run. */
function save(
  what: string,
  body: string | Buffer,
  status: number,
  code: number,
  type = json,
): BadInput {
  return { what, head: ['POST /api/save', type], body, status, code };
}

/** A GET of a query, of which `math.add` has refused a param. */
function query(what: string, text: string, path: string): BadInput {
  return { what, head: [`GET /api/math.add?${text}`], status: 400, code: -32602, path };
}

function notFound(what: string, target: string): BadInput {
  return { what, head: [`GET ${target}`], status: 404, code: -32601 };
}

/** A POST to `save` of a type that it does not take. */
function ofType(what: string, lines: string, body = '{"name":"x"}'): BadInput {
  return save(what, body, 415, -32600, lines);
}

/** Refused by the server itself, below JSON-RPC. */
function refused(what: string, status: number, ...head: readonly string[]): BadInput {
  return { what, head, status, code: -32600 };
}

const paramBytes = Buffer.from('{"name":"\u00e9"}', 'latin1');

const inputs: readonly BadInput[] = [
  // Values of a query.
  query('a word for a number', 'a=one', '/a'),
  query('a broken percent code', 'a=%zz', '/a'),
  query('a NUL', 'a=1%00', '/a'),
  query('a line break', 'a=1%0D%0Aset-cookie:%20x', '/a'),
  query('digits that are not ASCII', 'a=%EF%BC%91', '/a'),
  query('JSON for a number', 'a=%221%22', '/a'),
  query('an object for a number', 'a=%7B%7D', '/a'),
  query('an array for a number', 'a=%5B1%5D', '/a'),
  // Names of a query.
  query('a name in another case', 'A=1', '/a'),
  query('a name without a value', 'a', '/a'),
  query('a name that is empty', 'a=1&=2', '/'),
  query('constructor', 'a=1&constructor=2', '/constructor'),
  query('a semicolon between two params', 'a=1;b=2', '/a'),
  query('a fragment', 'a=1#x', '/a'),
  query('members of a request', 'a=1&method=reset', '/method'),
  {
    what: 'a value that would close the params',
    head: ['GET /api/echo?near=%7B%7D%7D,%22method%22:%22reset%22'],
    status: 400,
    code: -32602,
    path: '/near',
  },
  ...['a=%C3%28', 'a=%C0%B1', 'a=1&%ff=2'].map((text) =>
    refused('encoded bytes that are no UTF-8', 400, `GET /api/math.add?${text}`),
  ),
  refused('a huge query', 431, `GET /api/echo?s=${'x'.repeat(16 * 1024)}`),
  // Paths.
  notFound('no name', '/api/'),
  notFound('a dot segment', '/api/./math.add'),
  notFound('two dots', '/api/../rpc'),
  notFound('two dots in percent codes', '/api/%2e%2e/rpc'),
  notFound('an encoded slash behind dots', '/api/..%2frpc'),
  notFound('a NUL in the name', '/api/math.add%00'),
  notFound('a line break in the name', '/api/math.add%0d%0aset-cookie:%20x'),
  notFound('a blank in the name', '/api/math.add%20'),
  notFound('a param of the path', '/api/math.add;a=1'),
  notFound('a backslash', '/api/math%5Cadd'),
  notFound('__proto__ as a name', '/api/__proto__'),
  notFound('constructor as a name', '/api/constructor'),
  notFound('a name as long as a head may be', `/api/${'x'.repeat(8000)}`),
  refused('a broken percent code', 400, 'GET /api/%zz'),
  refused('a half percent code', 400, 'GET /api/math.add%2'),
  refused('an overlong dot', 400, 'GET /api/math%C0%AEadd'),
  // Methods.
  { ...refused('an unknown method', 405, 'BREW /api/save'), server: 'uws' },
  {
    ...refused('a method in small letters', 405, 'post /api/save', json),
    body: '{}',
    server: 'uws',
  },
  // Bodies.
  save('no body', '', 400, -32602),
  save('null', 'null', 400, -32600),
  save('a string', '"{}"', 400, -32600),
  save('two objects', '{"name":"x"}{"name":"y"}', 400, -32700),
  save('a comma too much', '{"name":"x",}', 400, -32700),
  save('a comment', '{"name":"x"/**/}', 400, -32700),
  save('blanks alone', '  ', 400, -32700),
  save('a byte order mark', '\ufeff{"name":"x"}', 400, -32700),
  save('bytes that are no UTF-8', paramBytes, 400, -32700),
  save('UTF-16', Buffer.from('{"name":"x"}', 'utf16le'), 400, -32700),
  save('an id behind it', '{"name":"x"},"id":2', 400, -32700),
  save('a batch behind it', '{"name":"x"}},{"method":"reset","params":{', 400, -32700),
  save('brackets without end', '['.repeat(100_000), 400, -32700),
  save('a JSON-RPC request', '{"jsonrpc":"2.0","id":1,"method":"reset"}', 400, -32602),
  save('a wrong type', '{"name":1}', 400, -32602),
  save('a member that nobody declared', '{"name":"x","as":1}', 400, -32602),
  save('__proto__', '{"name":"x","__proto__":{}}', 400, -32602),
  // Types.
  ofType('an empty type', 'content-type:'),
  ofType('JSON in a form', 'content-type: multipart/form-data;a=application/json'),
  ofType('two types', `${json}\r\n${json}`),
  ofType('two types in one', 'content-type: text/plain, application/json'),
  ofType('a type like JSON', 'content-type: application/jsonx'),
  ofType('a type without its tree', 'content-type: json'),
  ofType('a type without its name', 'content-type: /json'),
  ofType('words behind the type', 'content-type: application/json x'),
  ofType('a blank in the type', 'content-type: application /json'),
  ofType('bytes for a procedure without them', 'content-type: application/octet-stream', 'x'),
  ofType('a compressed body', `${json}\r\ncontent-encoding: gzip`),
  // The edge.
  {
    ...refused('a length that is none', 400, 'POST /api/save', json, 'content-length: 1x'),
    server: 'uws',
  },
  refused('a chunked GET', 411, 'GET /api/math.add?a=1', 'transfer-encoding: chunked'),
  refused('headers above the limit', 431, 'GET /api/math.add?a=1', `x-long: ${'x'.repeat(16_380)}`),
];

async function send(client: RawClient, { head, body }: BadInput): Promise<RawResponse> {
  const [line = '', ...lines] = head;
  const length = lines.some((text) => /^(?:content-length|transfer-encoding):/.test(text))
    ? []
    : [`content-length: ${Buffer.byteLength(body ?? '')}`];
  const sized = body === undefined ? [] : length;
  const text = [`${line} HTTP/1.1`, 'host: localhost', ...lines, ...sized, '', ''].join('\r\n');
  await client.write(Buffer.concat([Buffer.from(text), Buffer.from((body ?? '') as Buffer)]));
  return client.response();
}

for (const way of ownServers) {
  describe(`bad input: ${way.name}`, () => {
    const lifetime = suiteLifetime();
    let site: Site;
    before(async () => {
      site = await openSite(lifetime, way, 'plain');
      const ran = await site.seen();
      lifetime.after(async () => assert.deepEqual(await site.seen(), ran, 'something has run'));
    });

    for (const input of inputs) {
      const { what, head, status, code, path, server = way.server } = input;
      if (server !== way.server) continue;
      test(`${head[0]?.slice(0, 60)}, ${what}: ${status}`, async () => {
        const client = site.connect();
        const response = await send(client, input);
        const problem: Problem = problemOf(response, status);
        assert.equal(problem.code, code);
        if (path !== undefined) {
          const [issue] = problem.data as readonly { readonly path: string }[];
          assert.equal(issue?.path, path);
        }
        if (status === 405) assert.notEqual(header(response, 'allow'), undefined);
        if (status === 415 && what !== 'a compressed body') {
          assert.notEqual(header(response, 'accept-post'), undefined);
        }
        // What a client has sent stands in no header.
        assert.equal(header(response, 'set-cookie'), undefined);
        client.destroy();
      });
    }
  });
}
