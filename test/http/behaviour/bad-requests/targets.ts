import { request } from '../../raw-client.ts';
import { type Input, raw, refused } from './input.ts';

const onPath = 'POST, GET, HEAD, OPTIONS';
const onHealth = 'GET, HEAD';
const body = '{"method":"echo","id":1}';

/** Without a body, or with one that must be passed over. */
function method(cause: string, name: string, path: string, allow: string, text?: string): Input {
  const lines = text === undefined ? [] : [`content-length: ${text.length}`];
  const bytes = request(name, path, lines) + (text ?? '');
  const isHead = name === 'HEAD';
  return raw(cause, bytes, { ...refused(405, allow), ...(isHead && { isHead }) });
}

function target(cause: string, path: string): Input {
  // A call that would be right, at another place.
  const lines = ['content-type: application/json', 'content-length: 25'];
  const call = '{"method":"echo", "id":1}';
  return raw(cause, request('POST', path, lines) + call, refused(404));
}

/** docs/protocol.md, "Other routes" and "GET /rpc". */
export const targets: readonly Input[] = [
  method('PUT', 'PUT', '/rpc', onPath),
  method('PUT with a call', 'PUT', '/rpc', onPath, body),
  method('DELETE', 'DELETE', '/rpc', onPath),
  method('PATCH with a call', 'PATCH', '/rpc', onPath, body),
  method('TRACE', 'TRACE', '/rpc', onPath),
  method('PROPFIND, a method of others', 'PROPFIND', '/rpc', onPath),
  method('POST on /healthz', 'POST', '/healthz', onHealth, body),
  method('OPTIONS on /healthz', 'OPTIONS', '/healthz', onHealth),
  method('DELETE on /readyz', 'DELETE', '/readyz', onHealth),

  target('the root', '/'),
  target('a slash behind the path', '/rpc/'),
  target('a slash before the path', '//rpc'),
  target('the path in capitals', '/RPC'),
  target('the path percent-encoded', '/%72pc'),
  target('a slash that is percent-encoded', '/rpc%2f'),
  target('a NUL behind the path, percent-encoded', '/rpc%00'),
  target('a line break behind the path, percent-encoded', '/rpc%0d%0aX-Evil:%201'),
  target('a dot segment', '/./rpc'),
  target('two dots', '/a/../rpc'),
  target('two dots above the root', '/../../etc/passwd'),
  target('a parameter of the path', '/rpc;a=1'),
  target('a path that begins like ours', '/rpc2'),
  target('a part of our path', '/rp'),
  target('a path below ours', '/rpc/more'),
  target('a path below a health check', '/healthz/x'),
  target('a pattern', '/*'),
  target('a path of 8000 characters', `/${'a'.repeat(8000)}`),
  raw('HEAD on nothing', request('HEAD', '/nowhere'), { ...refused(404), isHead: true }),
  raw('GET on nothing', request('GET', '/rpc.json'), refused(404)),
  raw('a format that is not served', request('GET', '/rpc?format=xml'), refused(400)),
  raw('an empty format', request('GET', '/rpc?format='), refused(400)),
  raw('the format twice', request('GET', '/rpc?format=openrpc&format=openrpc'), refused(400)),
  raw('a format in capitals', request('GET', '/rpc?format=OpenRPC'), refused(400)),
];
