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
  ...noId('of 100,000 characters', `"${'i'.repeat(100_000)}"`),
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
