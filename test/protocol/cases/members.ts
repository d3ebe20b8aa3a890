import { type Case, invalid, notFound, result, spelling, wrongParams } from '../case.ts';

const sum = '"method":"sum","params":[1,2,4]';

function versioned(version: string): string {
  return `{"jsonrpc":${version},${sum},"id":1}`;
}

function requestOf(members: string): Case {
  return { name: members, body: `{${members}}`, reply: result('1', '7') };
}

export const members: readonly Case[] = [
  { name: 'jsonrpc "2.0"', body: versioned('"2.0"'), reply: result('1', '7') },
  { name: 'jsonrpc with an escape', body: versioned('"2\\u002e0"'), reply: result('1', '7') },
  { name: 'jsonrpc absent', body: `{${sum},"id":1}`, reply: result('1', '7') },
  ...['"1.0"', '"2"', '2.0', '2', 'null', '""', '["2.0"]', '"2.0 "', 'true', '{}'].map(
    (version) => ({
      name: `jsonrpc ${version}`,
      body: versioned(version),
      reply: invalid('1'),
    }),
  ),
  {
    name: 'a wrong jsonrpc without an id is answered all the same',
    body: `{"jsonrpc":"1.0",${sum}}`,
    reply: invalid(),
  },

  ...['1', 'null', 'true', '{}', '["sum"]', '""'].map((method) => ({
    name: `method ${method}`,
    body: `{"method":${method},"id":1}`,
    reply: invalid('1'),
  })),
  { name: 'method absent', body: '{"jsonrpc":"2.0","id":1}', reply: invalid('1') },
  { name: 'nothing at all', body: '{}', reply: invalid() },
  {
    name: 'method with escapes',
    body: '{"method":"\\u0073u\\u006d","params":[1,2,4],"id":1}',
    reply: result('1', '7'),
  },
  {
    name: 'method of 256 characters',
    body: `{"method":"${'m'.repeat(256)}","id":1}`,
    reply: notFound('1', 'm'.repeat(256)),
  },
  {
    name: 'method of 257 characters',
    body: `{"method":"${'m'.repeat(257)}","id":1}`,
    reply: invalid('1'),
  },
  {
    name: 'method of 256 characters written with escapes',
    body: `{"method":"${'\\u006d'.repeat(256)}","id":1}`,
    reply: notFound('1', 'm'.repeat(256)),
  },
  {
    name: 'method of 100,000 characters',
    body: `{"method":"${'m'.repeat(100_000)}","id":1}`,
    reply: invalid('1'),
  },
  {
    name: 'method that is a path',
    body: '{"method":"../../etc/passwd","id":1}',
    reply: notFound('1', '../../etc/passwd'),
  },
  { name: 'method of one blank', body: '{"method":" ","id":1}', reply: notFound('1', ' ') },
  {
    name: 'method of odd characters',
    body: '{"method":"é😀 \\u0000\\ud800","id":1}',
    reply: notFound('1', 'é😀 \u0000\ud800'),
  },
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'].flatMap((method) => [
    {
      name: `method ${method}`,
      body: `{"method":"${method}","id":1}`,
      reply: notFound('1', method),
    },
    {
      name: `method ${method} in a batch`,
      body: `[{"method":"${method}","id":1}]`,
      reply: `[${notFound('1', method)}]`,
    },
  ]),
  {
    name: 'method near a known one',
    body: '{"method":"subtrct","id":1}',
    reply: notFound('1', 'subtrct', 'subtract'),
  },
  {
    name: 'method near a known one, neighbours swapped',
    body: '{"method":"ehco","id":1}',
    reply: notFound('1', 'ehco', 'echo'),
  },
  {
    name: 'method near none',
    body: '{"method":"zzzzzzzz","id":1}',
    reply: notFound('1', 'zzzzzzzz'),
  },
  {
    name: 'method of the reserved kind',
    body: '{"method":"rpc.unheardOf","id":1}',
    reply: notFound('1', 'rpc.unheardOf'),
  },

  ...['null', '1', '"a"', 'true', 'false', '0', '""'].flatMap((params) => [
    {
      name: `params ${params}`,
      body: `{"method":"free","params":${params},"id":1}`,
      reply: wrongParams('1'),
    },
    {
      name: `params ${params} of a notification`,
      body: `{"method":"free","params":${params}}`,
      reply: wrongParams(),
    },
    {
      name: `params ${params} of an unknown method`,
      body: `{"method":"nowhere","params":${params},"id":1}`,
      reply: wrongParams('1'),
    },
    {
      name: `params ${params} in a batch`,
      body: `[{"method":"free","params":${params},"id":1},{${sum},"id":2}]`,
      reply: `[${wrongParams('1')},${result('2', '7')}]`,
    },
  ]),

  ...[
    '"method":"sum"',
    '"jsonrpc":"2.0","jsonrpc":"2.0"',
    '"params":[1,2,4]',
    '"\\u006dethod":"sum"',
    '"jsonrp\\u0063":"2.0","jsonrpc":"2.0"',
    '"p\\u0061rams":[]',
    '"\\u0070\\u0061\\u0072\\u0061\\u006d\\u0073":[]',
    '"\\u006a\\u0073\\u006f\\u006e\\u0072\\u0070\\u0063":"2.0","jsonrpc":"2.0"',
  ].flatMap((again) => [
    {
      name: `repeated: ${again}`,
      body: `{${sum},"id":1,${again}}`,
      reply: invalid('1'),
      onlyAsText: spelling,
    },
    {
      name: `repeated before: ${again}`,
      body: `{${again},${sum},"id":1}`,
      reply: invalid('1'),
      onlyAsText: spelling,
    },
    {
      name: `repeated in a batch: ${again}`,
      body: `[{${sum},${again},"id":1},{${sum},"id":2}]`,
      reply: `[${invalid('1')},${result('2', '7')}]`,
      onlyAsText: spelling,
    },
  ]),
  {
    name: 'repeated, of a notification',
    body: `{${sum},"params":[1,2,4]}`,
    reply: invalid(),
    onlyAsText: spelling,
  },
  {
    name: 'repeated inside the params is no matter of the envelope',
    body: '{"method":"free","params":{"id":1,"id":2,"method":"a","method":"b"},"id":1}',
    reply: result('1', '{"id":2,"method":"b"}'),
  },

  requestOf(`${sum},"id":1,"extra":true`),
  requestOf(`"extra":{"id":2,"method":"x"},${sum},"id":1`),
  requestOf(`${sum},"extra":[],"id":1`),
  requestOf(`${sum},"id":1,"extra":"}"`),
  requestOf(`${sum},"id":1,"":null`),
  requestOf(`"a":"\\"id\\":9","id":1,${sum}`),
  requestOf(`"error":{},"result":1,${sum},"id":1`),
  requestOf(`"a":1,"a":2,${sum},"id":1`),
  requestOf(`"__proto__":{"method":"crash","id":2,"params":{}},${sum},"id":1`),
  requestOf(`"constructor":{"prototype":{}},${sum},"id":1,"toString":1`),
  ...permutations(['"jsonrpc":"2.0"', '"method":"sum"', '"params":[1,2,4]', '"id":1']).map(
    (order) => requestOf(order.join(',')),
  ),
  {
    name: 'blanks wherever they may be',
    body: ' \t\r\n{ \n"jsonrpc"\t:\r"2.0" ,\n "method" : "sum" , "params" : [ 1 ,\n2 , 4 ] , "id" : 1 } \n',
    reply: result('1', '7'),
  },
  {
    name: 'blanks in a batch',
    body: ` [ \n{ "id" : 1 , ${sum} }\t,\r\n { ${sum} , "id" : 2 } ] \n`,
    reply: `[${result('1', '7')},${result('2', '7')}]`,
  },
  {
    name: 'a wrong jsonrpc behind large params',
    body: `{"method":"free","params":{"a":"${'x'.repeat(70_000)}"},"id":1,"jsonrpc":"1.0"}`,
    reply: invalid('1'),
  },
  {
    name: 'large params, twice',
    body: `{"params":["${'x'.repeat(70_000)}"],${sum},"id":1}`,
    reply: invalid('1'),
    onlyAsText: spelling,
  },
  { name: 'a response', body: '{"jsonrpc":"2.0","id":1,"result":1}', reply: invalid('1') },
  {
    name: 'a response with an error',
    body: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"}}',
    reply: invalid('1'),
  },
  { name: 'a request in a member', body: `{"request":{${sum},"id":1}}`, reply: invalid() },
  { name: 'a query of GraphQL', body: '{"query":"{ a }"}', reply: invalid() },
  ...['1', '"text"', 'null', 'true', '-0'].map((body) => ({
    name: `a body of ${body}`,
    body,
    reply: invalid(),
  })),
  {
    name: 'the context gives the id',
    body: '[{"method":"id","id":"x"},{"method":"id","id":null},{"method":"id","id":1.0}]',
    reply: `[${result('"x"', '"x"')},${result('null', 'null')},${result('1.0', '1')}]`,
    onlyAsText: spelling,
  },
];

function permutations(items: readonly string[]): string[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}
