import { type Case, refused, result, spelling } from '../case.ts';

function call(method: string, params: string | undefined, reply: string): Case {
  const members = params === undefined ? '' : `,"params":${params}`;
  return {
    name: `${method} ${params ?? 'without params'}`,
    body: `{"method":"${method}"${members},"id":1}`,
    reply,
  };
}

const ok = (value: string) => result('1', value);
const no = (...issues: Parameters<typeof refused> extends [string, ...infer Rest] ? Rest : never) =>
  refused('1', ...issues);
const missing = (name: string, expected: string) => ({
  path: `/${name}`,
  expected,
  received: 'undefined',
});
const unknown = (name: string, received: string) => ({
  path: `/${name}`,
  expected: 'never',
  received,
});

const greetType = '{ name: string; greeting?: string; marks?: number }';
const sumType = '{ a: number; b: number; c: number }';

export const params: readonly Case[] = [
  call('sum', '{"c":4,"a":1,"b":2}', ok('7')),
  call('sum', '[1,2,4]', ok('7')),
  call('greet', '{"name":"Ada"}', ok('"Hello, Ada!"')),
  call('greet', '["Ada"]', ok('"Hello, Ada!"')),
  call('greet', '["Ada","Good day"]', ok('"Good day, Ada!"')),
  call('greet', '["Ada","Good day",3]', ok('"Good day, Ada!!!"')),
  call('greet', '{"marks":2,"name":"Ada"}', ok('"Hello, Ada!!"')),
  call('get_data', undefined, ok('["hello",5]')),
  call('get_data', '[]', ok('["hello",5]')),
  call('get_data', '{}', ok('["hello",5]')),
  call('free', undefined, ok('{}')),
  call('free', '{"any":[1,{"thing":null}]}', ok('{"any":[1,{"thing":null}]}')),
  // As ethers, viem and jayson send no params; by each reader: of one call, of a batch, of what is unusual.
  call('free', '[]', ok('{}')),
  call('free', ' [ ] ', ok('{}')),
  {
    name: 'free [] in a batch',
    body: '[{"method":"free","params":[],"id":1},{"method":"free","params":[],"id":1}]',
    reply: `[${ok('{}')},${ok('{}')}]`,
  },
  {
    name: 'free [] behind an escaped name',
    body: '{"\\u006dethod":"free","params":[],"id":1}',
    reply: ok('{}'),
  },

  call(
    'sum',
    undefined,
    no(missing('a', 'number'), missing('b', 'number'), missing('c', 'number')),
  ),
  call('sum', '[]', no(missing('a', 'number'), missing('b', 'number'), missing('c', 'number'))),
  call('sum', '[1,2]', no(missing('c', 'number'))),
  call('sum', '[1,2,3,4]', no({ path: '', expected: sumType, received: 'array' })),
  call(
    'sum',
    '[1,"2",null]',
    no(
      { path: '/b', expected: 'number', received: 'string' },
      { path: '/c', expected: 'number', received: 'null' },
    ),
  ),
  call(
    'sum',
    '{"a":[],"b":{},"c":true}',
    no(
      { path: '/a', expected: 'number', received: 'array' },
      { path: '/b', expected: 'number', received: 'object' },
      { path: '/c', expected: 'number', received: 'boolean' },
    ),
  ),
  {
    ...call('sum', '[1,2,1e999]', no({ path: '/c', expected: 'number', received: 'Infinity' })),
    onlyAsText: spelling,
  },
  call('sum', '{"a":1,"b":2,"c":3,"d":4}', no(unknown('d', 'number'))),
  call('sum', '{"a":1,"b":2,"c":3,"__proto__":{}}', no(unknown('__proto__', 'object'))),
  call('sum', '{"a":1,"b":2,"c":3,"toString":1}', no(unknown('toString', 'number'))),
  call('sum', '{"a":1,"b":2,"c":3,"a~/b":null}', no(unknown('a~0~1b', 'null'))),
  call(
    'sum',
    '{"__proto__":{"a":1,"b":2,"c":3}}',
    no(
      missing('a', 'number'),
      missing('b', 'number'),
      missing('c', 'number'),
      unknown('__proto__', 'object'),
    ),
  ),
  call('get_data', '[1]', no({ path: '', expected: 'Record<string, never>', received: 'array' })),
  call('get_data', '{"a":1}', no(unknown('a', 'number'))),
  call('greet', '{"name":1}', no({ path: '/name', expected: 'string', received: 'number' })),
  call(
    'greet',
    '{"name":"Ada","marks":1.5}',
    no({
      path: '/marks',
      expected: 'number', // TypeScript has no type for integers
      received: 'number',
    }),
  ),
  call('greet', '["Ada","a",1,1]', no({ path: '', expected: greetType, received: 'array' })),
  call(
    'free',
    '[1]',
    no({
      path: '',
      expected: 'Record<string, unknown>',
      received: 'array',
    }),
  ),
  call('ten', '{}', no(...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => missing(`n${i}`, 'number')))),
  call(
    'ten',
    '{"n0":1,"n9":"a"}',
    no(...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => missing(`n${i}`, 'number'))),
  ),
];
