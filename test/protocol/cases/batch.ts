import {
  type Case,
  error,
  internal,
  invalid,
  notFound,
  refused,
  result,
  tooLarge,
} from '../case.ts';

const call = (id: string, method = 'get_data') => `{"method":"${method}","id":${id}}`;
const data = '["hello",5]';
const many = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(',');

export const batch: readonly Case[] = [
  { name: 'one call', body: `[${call('1')}]`, reply: `[${result('1', data)}]` },
  { name: 'an empty batch with blanks', body: ' [ \n] ', reply: invalid() },
  {
    name: 'twice the same id',
    body: `[${call('1')},${call('1')}]`,
    reply: `[${result('1', data)},${result('1', data)}]`,
  },
  {
    name: 'elements that are no requests',
    body: `[null,${call('1')},[],[${call('9')}],"a",true,1.5,{},${call('2')},{"id":3},{"id":{}}]`,
    reply: `[${[
      invalid(),
      result('1', data),
      invalid(),
      invalid(),
      invalid(),
      invalid(),
      invalid(),
      invalid(),
      result('2', data),
      invalid('3'),
      invalid(),
    ].join(',')}]`,
  },
  {
    name: 'a notification among calls',
    body: `[${call('1')},{"method":"get_data"},{"method":"nowhere"},{"method":"crash","params":["error"]},${call('2')}]`,
    reply: `[${result('1', data)},${result('2', data)}]`,
  },
  {
    name: 'notifications and an invalid element',
    body: '[{"method":"get_data"},1,{"method":"get_data"}]',
    reply: `[${invalid()}]`,
  },
  {
    name: 'notifications that fail in every way',
    body: '[{"method":"nowhere"},{"method":"crash","params":["null"]},{"method":"sum","params":[]},{"method":"fail","params":[1,"a"]},{"method":"give","params":["cycle"]}]',
    reply: undefined,
  },
  {
    name: 'errors in the middle leave the others alone',
    body: `[${call('1')},{"method":"crash","params":["error"],"id":2},{"method":"fail","params":[7,"seven",{"a":1}],"id":3},{"method":"sum","params":[1],"id":4},${call('5', 'nowhere')},{"method":"crashLater","params":["null"],"id":6},${call('7')}]`,
    reply: `[${[
      result('1', data),
      internal('2'),
      error('3', 7, 'seven', '{"a":1}'),
      refused(
        '4',
        { path: '/b', expected: 'number', received: 'undefined' },
        { path: '/c', expected: 'number', received: 'undefined' },
      ),
      notFound('5', 'nowhere'),
      internal('6'),
      result('7', data),
    ].join(',')}]`,
  },
  {
    name: '1000 calls',
    body: `[${many(1000, (i) => `{"method":"sum","params":[${i},1,1],"id":${i}}`)}]`,
    reply: `[${many(1000, (i) => result(String(i), String(i + 2)))}]`,
  },
  {
    name: '1001 calls',
    body: `[${many(1001, (i) => call(String(i)))}]`,
    reply: tooLarge('null', 1000),
  },
  {
    name: '1001 notifications',
    body: `[${many(1001, () => '{"method":"get_data"}')}]`,
    reply: tooLarge('null', 1000),
  },
  {
    name: '100,000 numbers',
    body: `[${many(100_000, String)}]`,
    reply: tooLarge('null', 1000),
  },
  {
    name: 'a batch written as an object',
    body: `{"0":${call('1')},"length":1}`,
    reply: invalid(),
  },
  { name: 'a batch in a member', body: `{"batch":[${call('1')}]}`, reply: invalid() },
  {
    name: '1001 numbers',
    body: `[${many(1001, String)}]`,
    reply: tooLarge('null', 1000),
  },
  {
    name: '1000 numbers',
    body: `[${many(1000, String)}]`,
    reply: `[${many(1000, () => invalid())}]`,
  },
];
