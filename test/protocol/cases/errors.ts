import { type Case, error, internal, result, tooLarge } from '../case.ts';

const fail = (params: string, reply: string): Case => ({
  name: `RpcError ${params}`,
  body: `{"method":"fail","params":${params},"id":1}`,
  reply,
});

const kinds = (method: string, names: readonly string[]): Case[] =>
  names.map((kind) => ({
    name: `${method} ${kind}`,
    body: `{"method":"${method}","params":["${kind}"],"id":"x"}`,
    reply: internal('"x"'),
  }));

const give = (kind: string, value: string): Case => ({
  name: `give ${kind}`,
  body: `{"method":"give","params":["${kind}"],"id":1}`,
  reply: result('1', value),
});

const thrown = [
  'error',
  'null',
  'undefined',
  'string',
  'symbol',
  'number',
  'function',
  'getter',
  'proxy',
  'cyclicData',
  'bigData',
];

const envelope = '{"jsonrpc":"2.0","id":1,"result":""}'.length;

export const errors: readonly Case[] = [
  fail('[1,"one"]', error('1', 1, 'one')),
  fail('[0,"zero",0]', error('1', 0, 'zero', '0')),
  fail('[-32000,"mine",null]', error('1', -32000, 'mine', 'null')),
  fail('[-32700,"a procedure may",false]', error('1', -32700, 'a procedure may', 'false')),
  fail('[9007199254740991,"","" ]', error('1', 9007199254740991, '', '""')),
  fail('[-9007199254740991,"low"]', error('1', -9007199254740991, 'low')),
  fail(
    '[7,"é😀\\"\\n\\u0000\\ud800",{"deep":[1,{"a":null}],"__proto__":{"b":2}}]',
    error('1', 7, 'é😀"\n\u0000\ud800', '{"deep":[1,{"a":null}],"__proto__":{"b":2}}'),
  ),
  // RpcError itself refuses a code that is no integer.
  { ...fail('[1.5,"half"]', internal('1')), name: 'RpcError with no integer' },
  ...kinds('crash', thrown),
  ...kinds('crashLater', thrown),
  ...kinds('give', [
    'bigint',
    'cycle',
    'function',
    'symbol',
    'nan',
    'infinity',
    'toJson',
    'rejection',
    'rejectedNull',
    'thenable',
  ]),
  {
    name: 'a result that is not what returns says',
    body: '{"method":"declared","id":1}',
    reply: internal('1'),
  },
  give('undefined', 'null'),
  give('null', 'null'),
  give('zero', '0'),
  give('false', 'false'),
  give('empty', '""'),
  give('date', '"1970-01-01T00:00:00.000Z"'),
  give('text', '"é😀\\ud800\\"\\\\\\n\\u0000\u2028"'),
];

/** Replies at the bound and past it. @param limit what a reply may hold, bytes */
export function largeAt(limit: number): readonly Case[] {
  const fitting = limit - envelope;
  const more = limit + 1_000_000;
  const large: readonly Omit<Case, 'isLarge'>[] = [
    {
      name: 'a reply that is as long as it may be',
      body: `{"method":"big","params":[${fitting}],"id":1}`,
      reply: result('1', `"${'x'.repeat(fitting)}"`),
    },
    {
      name: 'a reply of one byte more',
      body: `{"method":"big","params":[${fitting + 1}],"id":1}`,
      reply: tooLarge('1', limit),
    },
    {
      name: 'a result of a megabyte more',
      body: `{"method":"big","params":[${more}],"id":1}`,
      reply: tooLarge('1', limit),
    },
    {
      name: 'a result of a megabyte more, asynchronous',
      body: `{"method":"bigLater","params":[${more}],"id":1}`,
      reply: tooLarge('1', limit),
    },
    {
      name: 'a notification with a result of a megabyte more',
      body: `{"method":"big","params":[${more}]}`,
      reply: undefined,
    },
    {
      name: 'a result of a megabyte more in a batch',
      body: `[{"method":"get_data","id":1},{"method":"big","params":[${more}],"id":2},{"method":"get_data","id":3}]`,
      reply: `[${result('1', '["hello",5]')},${tooLarge('2', limit)},${result('3', '["hello",5]')}]`,
    },
  ];
  return large.map((one) => ({ ...one, isLarge: true }) as const);
}

/** All replies of a batch together stay below the limit of one. */
export function totalsAt(limit: number): readonly Case[] {
  const part = Math.floor(limit * 0.4);
  const big = (id: number) => `{"method":"big","params":[${part}],"id":${id}}`;
  const reply = (id: number) => result(String(id), `"${'x'.repeat(part)}"`);
  return [
    {
      name: 'two large results fit in a batch, the third does not',
      isLarge: true,
      body: `[${big(1)},${big(2)},${big(3)}]`,
      reply: `[${reply(1)},${reply(2)},${tooLarge('3', limit)}]`,
    },
  ];
}
