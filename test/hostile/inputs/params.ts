import { refused } from '../../protocol/case.ts';
import { call, type Input } from './input.ts';

type Issues = Parameters<typeof refused> extends [string, ...infer Rest] ? Rest : never;

/** Each refused with all that is wrong, in the order of the schema (docs/protocol.md, "Parameters"). */
function no(cause: string, method: string, params: string | undefined, ...issues: Issues): Input {
  const member = params === undefined ? '' : `,"params":${params}`;
  const body = `{"jsonrpc":"2.0","method":"@${method}"${member},"id":1}`;
  return call(cause, body, refused('1', ...issues));
}

const number = (name: string, received: string) => ({
  path: `/${name}`,
  expected: 'number',
  received,
});
const never = (name: string, received: string) => ({
  path: `/${name}`,
  expected: 'never',
  received,
});
const sum = '{ a: number; b: number; c: number }';
const customer = '{ name: string; level: "gold" | "silver" }';
const line = '{ sku: string; count: number }';

const good = '{"name":"Ada","level":"gold"}';
const one = '{"sku":"AB-123","count":1}';
const order = (who: string, lines: string, rest = '') =>
  `{"customer":${who},"lines":${lines}${rest}}`;
const count = (value: string) => order(good, `[{"sku":"AB-123","count":${value}}]`);
const at = (path: string, expected: string, received: string) => ({ path, expected, received });

export const params: readonly Input[] = [
  no(
    'no params where three are required',
    'sum',
    undefined,
    ...['a', 'b', 'c'].map((name) => number(name, 'undefined')),
  ),
  no('one of three missing', 'sum', '{"a":1,"b":2}', number('c', 'undefined')),
  no('one of three missing, by position', 'sum', '[1,2]', number('c', 'undefined')),
  no('one too many, by position', 'sum', '[1,2,3,4]', at('', sum, 'array')),
  no('a string for a number', 'sum', '{"a":1,"b":2,"c":"3"}', number('c', 'string')),
  no('null for a number', 'sum', '[1,2,null]', number('c', 'null')),
  no('true for a number', 'sum', '{"a":1,"b":2,"c":true}', number('c', 'boolean')),
  no('an array for a number', 'sum', '{"a":1,"b":2,"c":[3]}', number('c', 'array')),
  no('an object for a number', 'sum', '{"a":1,"b":2,"c":{}}', number('c', 'object')),
  no('a number that is infinite', 'sum', '{"a":1,"b":2,"c":1e999}', number('c', 'Infinity')),
  no('an unknown name', 'sum', '{"a":1,"b":2,"c":3,"d":4}', never('d', 'number')),
  no(
    'a name in capitals',
    'sum',
    '{"A":1,"b":2,"c":3}',
    number('a', 'undefined'),
    never('A', 'number'),
  ),
  no(
    '__proto__ as a name',
    'sum',
    '{"a":1,"b":2,"c":3,"__proto__":{"d":1}}',
    never('__proto__', 'object'),
  ),
  no(
    'constructor as a name',
    'sum',
    '{"a":1,"b":2,"c":3,"constructor":1}',
    never('constructor', 'number'),
  ),
  no(
    'all values behind __proto__',
    'sum',
    '{"__proto__":{"a":1,"b":2,"c":3}}',
    ...['a', 'b', 'c'].map((name) => number(name, 'undefined')),
    never('__proto__', 'object'),
  ),
  no('an empty name', 'sum', '{"a":1,"b":2,"c":3,"":4}', never('', 'number')),
  no(
    'a name with the marks of a pointer',
    'sum',
    '{"a":1,"b":2,"c":3,"~/":4}',
    never('~0~1', 'number'),
  ),
  no(
    'twenty unknown names: eight are told',
    'sum',
    `{"a":1,"b":2,"c":3,${Array.from({ length: 20 }, (_, i) => `"u${i}":0`).join(',')}}`,
    ...Array.from({ length: 8 }, (_, i) => never(`u${i}`, 'number')),
  ),
  no(
    'by position where no order is declared',
    'any',
    '[0]',
    at('', 'Record<string, unknown>', 'array'),
  ),

  no(
    'an empty string where one character is asked',
    'order',
    order('{"name":"","level":"gold"}', `[${one}]`),
    at('/customer/name', 'string', 'string'),
  ),
  no(
    'a string one too long',
    'order',
    order('{"name":"123456789","level":"gold"}', `[${one}]`),
    at('/customer/name', 'string', 'string'),
  ),
  no(
    'a literal that is not among them',
    'order',
    order('{"name":"Ada","level":"lead"}', `[${one}]`),
    at('/customer/level', '"gold" | "silver"', 'string'),
  ),
  no(
    'a nested unknown name',
    'order',
    order('{"name":"Ada","level":"gold","vip":true}', `[${one}]`),
    at('/customer/vip', 'never', 'boolean'),
  ),
  no(
    'a nested object as text',
    'order',
    order(JSON.stringify(good), `[${one}]`),
    at('/customer', customer, 'string'),
  ),
  no(
    'a nested object as null',
    'order',
    order('null', `[${one}]`),
    at('/customer', customer, 'null'),
  ),
  no('an array with too few', 'order', order(good, '[]'), at('/lines', `${line}[]`, 'array')),
  no(
    'an array with too many',
    'order',
    order(good, `[${one},${one},${one},${one}]`),
    at('/lines', `${line}[]`, 'array'),
  ),
  no(
    'an object for an array',
    'order',
    order(good, `{"0":${one}}`),
    at('/lines', `${line}[]`, 'object'),
  ),
  no(
    'a pattern that does not match',
    'order',
    order(good, '[{"sku":"ab-123","count":1}]'),
    at('/lines/0/sku', 'string', 'string'),
  ),
  no(
    'a pattern with a line break behind',
    'order',
    order(good, '[{"sku":"AB-123\\n","count":1}]'),
    at('/lines/0/sku', 'string', 'string'),
  ),
  no('a fraction for an integer', 'order', count('1.5'), at('/lines/0/count', 'number', 'number')),
  no('below the minimum', 'order', count('0'), at('/lines/0/count', 'number', 'number')),
  no('above the maximum', 'order', count('100'), at('/lines/0/count', 'number', 'number')),
  no(
    'an integer beyond the doubles',
    'order',
    count('1e400'),
    at('/lines/0/count', 'number', 'Infinity'),
  ),
  no('a null in an array', 'order', order(good, `[${one},null]`), at('/lines/1', line, 'null')),
  no(
    'null for an optional string',
    'order',
    order(good, `[${one}]`, ',"note":null'),
    at('/note', 'string', 'null'),
  ),
];
