import { notFound } from '../../protocol/case.ts';
import { call, type Input, notRequest } from './input.ts';

const any = '"method":"@any","params":{"a":1}';

/** A request with this version. */
function version(cause: string, text: string): Input {
  return notRequest(cause, `{"jsonrpc":${text},${any},"id":1}`, '1');
}

function method(cause: string, text: string): Input {
  return notRequest(cause, `{"jsonrpc":"2.0","method":${text},"id":1}`, '1');
}

function params(cause: string, text: string): Input {
  return notRequest(cause, `{"jsonrpc":"2.0","method":"@any","params":${text},"id":1}`, '1');
}

/** No id at all, so the answer's is null. */
function id(cause: string, text: string): Input {
  return notRequest(cause, `{"jsonrpc":"2.0",${any},"id":${text}}`);
}

function unknown(cause: string, name: string): Input {
  const text = JSON.stringify(name);
  return call(cause, `{"jsonrpc":"2.0","method":${text},"id":1}`, notFound('1', name));
}

/** JSON that is no request: -32600, with its id if that is valid (docs/protocol.md, "Envelope"). */
export const envelope: readonly Input[] = [
  notRequest('a string in place of a request', '"@any"'),
  notRequest('a number in place of a request', '1'),
  notRequest('true in place of a request', 'true'),
  notRequest('null in place of a request', 'null'),
  notRequest('an empty object', '{}'),
  notRequest('members that are all unknown', '{"Method":"@any","ID":1}'),
  notRequest('a response in place of a request', '{"jsonrpc":"2.0","id":1,"result":1}', '1'),
  notRequest(
    'an error in place of a request',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}',
    '1',
  ),
  notRequest('a request in a member', `{"request":{${any},"id":1}}`),
  notRequest('a GraphQL query', '{"query":"{ a }"}'),

  version('version 1.0', '"1.0"'),
  version('version 2', '"2"'),
  version('version 2.1', '"2.1"'),
  version('the version as a number', '2.0'),
  version('the version as null', 'null'),
  version('the version with a blank', '" 2.0"'),
  version('the version in an array', '["2.0"]'),
  version('the version empty', '""'),
  notRequest('a wrong version without an id', `{"jsonrpc":"3.0",${any}}`),

  notRequest('no method', '{"jsonrpc":"2.0","id":1}', '1'),
  method('the method as a number', '1'),
  method('the method as null', 'null'),
  method('the method as true', 'true'),
  method('the method in an array', '["@any"]'),
  method('the method in an object', '{"name":"@any"}'),
  method('the method empty', '""'),
  method('a method of 257 characters', `"${'m'.repeat(257)}"`),
  method('a method of 257 characters, escaped', `"${'\\u006d'.repeat(257)}"`),
  method('a method of 100,000 characters', `"${'m'.repeat(100_000)}"`),

  unknown('a method of the prototype of objects', 'toString'),
  unknown('a method that is a prototype', '__proto__'),
  unknown('a method that is a constructor', 'constructor'),
  unknown('a reserved method', 'rpc.nowhere'),
  unknown('a method of one blank', ' '),
  unknown('a method with a NUL', '\u0000'),
  unknown('a method with half a surrogate pair', '\ud800'),
  unknown('a method that is a path', '../../etc/passwd'),
  unknown('a method of 256 characters that is not there', 'm'.repeat(256)),

  params('params null', 'null'),
  params('params as a string', '"a"'),
  params('params as a number', '1'),
  params('params as false', 'false'),
  params('params as an empty string', '""'),
  notRequest('params null in a notification', '{"method":"@any","params":null}'),

  id('an id that is true', 'true'),
  id('an id in an object', '{"id":1}'),
  id('an id in an array', '[1]'),
  id('an id of 257 characters', `"${'i'.repeat(257)}"`),
  id('an id of 257 digits', '1'.repeat(257)),
  id('an id of 257 characters, most of them zeros', `1.${'0'.repeat(255)}`),
  id('an id of 100,000 characters', `"${'i'.repeat(100_000)}"`),
  notRequest('an id that is none, and no method', '{"id":[]}'),

  notRequest('the id twice', `{"id":1,${any},"id":2}`),
  notRequest('the same id twice', `{"id":1,${any},"id":1}`),
  notRequest('the id twice, once in escapes', `{"id":1,${any},"\\u0069d":2}`),
  notRequest('the method twice', '{"method":"@any","method":"@any","id":1}', '1'),
  notRequest('the method twice, once in escapes', `{"meth\\u006fd":"@m",${any},"id":1}`, '1'),
  notRequest('the params twice', `{${any},"params":{},"id":1}`, '1'),
  notRequest('the params twice, once in escapes', `{${any},"p\\u0061rams":{},"id":1}`, '1'),
  notRequest('the params twice, large', `{"params":["${'x'.repeat(70_000)}"],${any},"id":1}`, '1'),
  notRequest('the version twice', `{"jsonrpc":"2.0","jsonrpc":"2.0",${any},"id":1}`, '1'),
  notRequest(
    'the version twice, at both ends',
    `{"jsonrpc":"2.0",${any},"id":1,"jsonrpc":"2.0"}`,
    '1',
  ),
  notRequest('a wrong version behind the params', `{${any},"id":1,"jsonrpc":"1.0"}`, '1'),
  notRequest(
    'a wrong version behind large params',
    `{"method":"@any","params":{"a":"${'x'.repeat(70_000)}"},"id":1,"jsonrpc":"1.0"}`,
    '1',
  ),
];
