import { type Case, invalid, notFound, result, spelling } from '../case.ts';

const sum = '"method":"sum","params":[1,2,4]';

function answered(id: string, onlyAsText?: string): Case {
  const hint = onlyAsText === undefined ? {} : { onlyAsText };
  return {
    name: `id ${id.length > 40 ? `${id.slice(0, 20)}... (${id.length})` : id}`,
    body: `{"jsonrpc":"2.0",${sum},"id":${id}}`,
    reply: result(id, '7'),
    ...hint,
  };
}

/** The same id before the params, behind an unknown member, and in a batch. */
function everywhere(id: string, onlyAsText?: string): Case[] {
  const plain = answered(id, onlyAsText);
  return [
    plain,
    { ...plain, name: `${plain.name}, first`, body: `{"id":${id},${sum}}` },
    { ...plain, name: `${plain.name}, among others`, body: `{${sum},"a":{},"id":${id},"b":[]}` },
    {
      ...plain,
      name: `${plain.name}, without params`,
      body: `{"method":"get_data","id":${id}}`,
      reply: result(id, '["hello",5]'),
    },
    {
      ...plain,
      name: `${plain.name}, in a batch`,
      body: `[{"id":${id},${sum}},{${sum},"id":${id}}]`,
      reply: `[${result(id, '7')},${result(id, '7')}]`,
    },
    {
      ...plain,
      name: `${plain.name}, of an unknown method`,
      body: `{"method":"nowhere","id":${id}}`,
      reply: notFound(id, 'nowhere'),
    },
    {
      ...plain,
      name: `${plain.name}, of an invalid request`,
      body: `{"method":5,"id":${id}}`,
      reply: invalid(id),
    },
  ];
}

/** Refused, and answered with null, since the id is none. */
function noId(name: string, id: string, onlyAsText?: string): Case[] {
  const hint = onlyAsText === undefined ? {} : { onlyAsText };
  return [
    { name: `id ${name}`, body: `{${sum},"id":${id}}`, reply: invalid(), ...hint },
    { name: `id ${name}, first`, body: `{"id":${id},${sum}}`, reply: invalid(), ...hint },
    {
      name: `id ${name}, in a batch`,
      body: `[{"id":${id},${sum}},{"id":1,${sum}}]`,
      reply: `[${invalid()},${result('1', '7')}]`,
      ...hint,
    },
  ];
}

export const ids: readonly Case[] = [
  ...everywhere('0'),
  ...everywhere('-7'),
  ...everywhere('null'),
  ...everywhere('""'),
  ...everywhere('"a b"'),
  ...everywhere('9007199254740993', spelling),
  ...everywhere('1.0', spelling),
  ...everywhere('1e3', spelling),
  ...everywhere('-0', spelling),
  ...everywhere('-0.0E-0', spelling),
  ...everywhere('1E400', spelling),
  ...everywhere('0.1000000000000000055511151231257827', spelling),
  ...everywhere('"\\u0061\\/\\"\\\\\\n"', spelling),
  ...everywhere('"\\ud83d\\ude00"', spelling),
  ...everywhere('"\\uD800"', spelling),
  ...everywhere('"😀é\u2028\u007f"'),
  ...everywhere('"],\\"id\\":5}"', spelling),
  answered(`"${'i'.repeat(255)}"`),
  ...everywhere(`"${'i'.repeat(256)}"`),
  answered(`"${'é'.repeat(256)}"`),
  answered(`"${'\\u0069'.repeat(256)}"`, spelling),
  ...everywhere('7'.repeat(255), spelling),
  ...everywhere('7'.repeat(256), spelling),
  answered(`-${'7'.repeat(255)}`, spelling),
  answered(`1.${'7'.repeat(254)}`, spelling),
  ...noId('of 257 characters', `"${'i'.repeat(257)}"`),
  ...noId('of 257 characters, written with escapes', `"${'\\u0069'.repeat(257)}"`),
  ...noId('of 129 characters outside the basic plane', `"${'😀'.repeat(129)}"`),
  ...noId('number of 257 digits', '7'.repeat(257), spelling),
  ...noId('number of 257 characters', `-${'7'.repeat(256)}`, spelling),
  ...noId('an object', '{}'),
  ...noId('an object with an id', '{"id":1}'),
  ...noId('an array', '[1]'),
  ...noId('true', 'true'),
  ...noId('false', 'false'),
  ...noId('repeated', '1,"id":1', spelling),
  ...noId('repeated, another', '1,"id":"2"', spelling),
  ...noId('repeated with an escape', '1,"\\u0069d":1', spelling),
  ...noId('repeated, all escaped', '1,"\\u0069\\u0064":1', spelling),
  {
    name: 'id with an escape in its name',
    body: `{${sum},"\\u0069d":5}`,
    reply: result('5', '7'),
  },
  {
    name: 'id with an escape in its name, first',
    body: `{"\\u0069\\u0064":5,${sum}}`,
    reply: result('5', '7'),
  },
  {
    name: 'absent: a notification',
    body: `{"jsonrpc":"2.0",${sum}}`,
    reply: undefined,
  },
  {
    name: 'absent: a notification without params',
    body: '{"method":"get_data"}',
    reply: undefined,
  },
  { name: 'an unknown Id is no id', body: `{${sum},"Id":5,"ID":5," id":5}`, reply: undefined },
  {
    name: 'an id in the params is none',
    body: '{"method":"free","params":{"id":5}}',
    reply: undefined,
  },
  {
    name: 'an id in the params and one beside them',
    body: '{"method":"free","params":{"id":5},"id":6}',
    reply: result('6', '{"id":5}'),
  },
];

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
      reply: invalid('1'),
    },
    {
      name: `params ${params} of a notification`,
      body: `{"method":"free","params":${params}}`,
      reply: invalid(),
    },
    {
      name: `params ${params} of an unknown method`,
      body: `{"method":"nowhere","params":${params},"id":1}`,
      reply: invalid('1'),
    },
    {
      name: `params ${params} in a batch`,
      body: `[{"method":"free","params":${params},"id":1},{${sum},"id":2}]`,
      reply: `[${invalid('1')},${result('2', '7')}]`,
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
