import { texts } from '../../texts.ts';
import {
  type Case,
  error,
  invalid,
  notFound,
  notJson,
  parseError,
  result,
  wireLimit,
} from '../case.ts';

const before = '{"jsonrpc":"2.0","method":"free","params":';
const after = ',"id":1}';

/** Broken in the params of a call, before them, and in a batch: nothing of it may have run. */
function broken(name: string, text: string): Case[] {
  const shared = { reply: parseError, onlyAsText: notJson };
  const mark = '{"method":"sum","params":[1,2,4],"id":1}';
  return [
    { name, body: `${before}${text}${after}`, ...shared },
    { name: `${name}, id first`, body: `{"id":1,"method":"free","params":${text}}`, ...shared },
    { name: `${name}, a notification`, body: `{"method":"free","params":${text}}`, ...shared },
    {
      name: `${name}, unknown method`,
      body: `{"method":"nowhere","params":${text},"id":1}`,
      ...shared,
    },
    {
      name: `${name}, in another member`,
      body: `{"extra":${text},"method":"free","id":1}`,
      ...shared,
    },
    {
      name: `${name}, in a batch`,
      body: `[${mark},{"method":"free","params":${text}}]`,
      ...shared,
    },
  ];
}

function brokenBody(name: string, body: string | Uint8Array): Case {
  return { name, body, reply: parseError, onlyAsText: notJson };
}

export const syntax: readonly Case[] = [
  ...broken('trailing comma in an array', '[1,]'),
  ...broken('trailing comma in an object', '{"a":1,}'),
  ...broken('a comma alone', '[,]'),
  ...broken('two commas', '[1,,2]'),
  ...broken('no value', '{"a":}'),
  ...broken('no name', '{1:2}'),
  ...broken('single quotes', "{'a':1}"),
  ...broken('a bare name', '{a:1}'),
  ...broken('a comment', '[1/*one*/]'),
  ...broken('NaN', '[NaN]'),
  ...broken('Infinity', '[-Infinity]'),
  ...broken('undefined', '[undefined]'),
  ...broken('hexadecimal', '[0x10]'),
  ...broken('a leading zero', '[01]'),
  ...broken('a leading plus', '[+1]'),
  ...broken('a bare point', '[.5]'),
  ...broken('a point at the end', '[5.]'),
  ...broken('an empty exponent', '[1e]'),
  ...broken('a minus alone', '[-]'),
  ...broken('a wrong literal', '[nul]'),
  ...broken('a literal in capitals', '[True]'),
  ...broken('a wrong escape', '["\\x41"]'),
  ...broken('a short escape', '["\\u12"]'),
  ...broken('an open string', '["a]'),
  ...broken('an open escape', '["a\\"]'),
  ...broken('a control character', '["a\u0001"]'),
  ...broken('a line break in a string', '["a\nb"]'),
  ...broken('a tab in a string', '["a\tb"]'),
  ...broken('a NUL in a string', '["\u0000"]'),
  ...broken('a no-break space', '[\u00a01]'),
  ...broken('a form feed', '[\f1]'),
  ...broken('closed by another bracket', '[1}'),
  ...broken('closed twice', '[1]]'),
  ...broken('open', '[1'),
  ...broken('nothing', ''),
  brokenBody('an empty body', ''),
  brokenBody('blanks alone', ' \n\t'),
  brokenBody('a byte order mark', '\ufeff{"method":"sum","params":[1,2,4],"id":1}'),
  brokenBody('a byte order mark before a batch', '\ufeff[]'),
  brokenBody('a byte order mark behind', '{"method":"sum","params":[1,2,4],"id":1}\ufeff'),
  brokenBody('two bodies', '{"method":"get_data","id":1}{"method":"get_data","id":2}'),
  brokenBody(
    'two bodies in two lines',
    '{"method":"get_data","id":1}\n{"method":"get_data","id":2}',
  ),
  brokenBody('garbage behind', '{"method":"sum","params":[1,2,4],"id":1}x'),
  brokenBody('garbage behind a call without params', '{"method":"get_data","id":1}]'),
  brokenBody('a NUL behind', '{"method":"sum","params":[1,2,4],"id":1}\u0000'),
  brokenBody('cut off', '{"method":"sum","params":[1,2,4],"id":1'),
  brokenBody('cut off behind a comma', '{"method":"sum","params":[1,2,4],'),
  brokenBody('a trailing comma in the request', '{"method":"sum","params":[1,2,4],"id":1,}'),
  brokenBody('a trailing comma in the batch', '[{"method":"sum","params":[1,2,4],"id":1},]'),
  brokenBody('an id with a leading zero', '{"method":"sum","params":[1,2,4],"id":01}'),
  brokenBody('an id with a leading zero, first', '{"id":-01,"method":"sum","params":[1,2,4]}'),
  brokenBody('an id cut off', '{"method":"sum","params":[1,2,4],"id":-}'),
  brokenBody('two ids, no comma', '{"method":"sum","params":[1,2,4],"id":1 2}'),
  brokenBody('a method with a control character', '{"method":"su\u0001m","params":[1,2,4],"id":1}'),
  brokenBody('form data', 'method=sum&id=1'),
  brokenBody('a page', '<html></html>'),
  brokenBody('YAML', 'jsonrpc: "2.0"\nmethod: get_data\nid: 1\n'),
  brokenBody('MessagePack', Buffer.from([0x83, 0xa2, 0x69, 0x64, 0x01, 0xa1, 0x6d, 0xa1, 0x6d, 0])),
  brokenBody('gzip', Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0x03, 0, 0, 0, 0, 0])),
  brokenBody('a call of a function', 'callback({"method":"get_data","id":1})'),
  brokenBody('a guard against script inclusion', ')]}\',\n{"method":"get_data","id":1}'),
  brokenBody('a record separator before', '\u001e{"method":"get_data","id":1}\n'),
  brokenBody('a length before', 'Content-Length: 28\r\n\r\n{"method":"get_data","id":1}'),
  brokenBody('a chunk around', '1c\r\n{"method":"get_data","id":1}\r\n0\r\n\r\n'),
  brokenBody(
    'a bracket too many behind 100,000 characters',
    `{"method":"free","params":{"a":"${'x'.repeat(100_000)}"}},"id":1}`,
  ),
  brokenBody(
    'broken params in the last call of a hundred',
    `[${'{"method":"get_data","id":1},'.repeat(99)}{"method":"free","params":{"a":},"id":2}]`,
  ),
  brokenBody('calls without the brackets of a batch', '{"method":"get_data","id":1},{"id":2}'),
];

const utf8 = (text: string) => Buffer.from(text);

function bytes(...parts: (string | number[])[]): Uint8Array {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

const wrongBytes: readonly (readonly [string, number[]])[] = [
  ['a lone continuation byte', [0x80]],
  ['a byte that is never UTF-8', [0xff]],
  ['a sequence cut off', [0xe2, 0x82]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['an overlong NUL', [0xc0, 0x80]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['a pair of surrogates', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['Latin-1', [0xe9]],
];

/** Characters of each width, in ids, results, errors and batches. */
export const characters: readonly Case[] = texts.flatMap((text): Case[] => {
  const json = JSON.stringify(text);
  // Ids have a limit, and so has the name of a method in an error.
  const word = text.slice(-4);
  const id = JSON.stringify(word);
  const echo = `{"method":"echo","params":{"value":${json}},"id":${id}}`;
  const fail = `{"method":"fail","params":[1,${json},${json}],"id":2}`;
  const [echoed, failed] = [result(id, json), error('2', 1, text, json)];
  const name = text.slice(0, 8);
  return [
    { name: `a result, ${name}`, body: echo, reply: echoed },
    { name: `an error, ${name}`, body: fail, reply: failed },
    { name: `a batch, ${name}`, body: `[${echo},${fail}]`, reply: `[${echoed},${failed}]` },
    {
      name: `an unknown method, ${name}`,
      body: `{"method":${id},"id":3}`,
      reply: notFound('3', word),
    },
  ];
});

export const encoding: readonly Case[] = [
  brokenBody(
    'a byte order mark, in bytes',
    bytes([0xef, 0xbb, 0xbf], '{"method":"get_data","id":1}'),
  ),
  brokenBody('UTF-16', Buffer.from('{"method":"get_data","id":1}', 'utf16le')),
  brokenBody('UTF-16BE', Buffer.from('{"method":"get_data","id":1}', 'utf16le').swap16()),
  ...wrongBytes.flatMap(([name, wrong]) => [
    brokenBody(`${name} in the params`, bytes(`${before}["`, wrong, `"]${after}`)),
    brokenBody(`${name} in the id`, bytes('{"method":"get_data","id":"', wrong, '"}')),
    brokenBody(`${name} in the method`, bytes('{"method":"', wrong, '","id":1}')),
    brokenBody(
      `${name} in an unknown member`,
      bytes('{"x":"', wrong, '","method":"get_data","id":1}'),
    ),
    brokenBody(`${name} in a batch`, bytes('[{"method":"get_data","id":"', wrong, '"}]')),
  ]),
  brokenBody(
    'a wrong byte far into a large body',
    bytes(`${before}["${'x'.repeat(200_000)}`, [0xff], `${'x'.repeat(200_000)}"]${after}`),
  ),
  ...['"é"', '"😀"', '"\u2028"', '"\u007f"', '"\ufeff"', '"\\u0000\\udfff\\ud800"'].map((text) => ({
    name: `a string of ${text}`,
    body: utf8(`{"method":"echo","params":[${text}],"id":1}`),
    // JSON.stringify writes what must be escaped, and no more.
    reply: result('1', text),
  })),
  {
    name: 'an escaped pair is one character',
    body: '{"method":"echo","params":["\\ud83d\\ude00\\u00e9\\/"],"id":1}',
    reply: result('1', '"😀é/"'),
  },
  {
    name: 'a large body of wide characters',
    body: utf8(`{"method":"echo","params":["${'é😀'.repeat(20_000)}"],"id":1}`),
    reply: result('1', `"${'é😀'.repeat(20_000)}"`),
  },
  {
    name: 'a large body with wide characters around the params',
    body: `{"é":"${'é'.repeat(3000)}","method":"echo","params":["${'x'.repeat(100_000)}"],"id":"é","ü":1}`,
    reply: result('"é"', `"${'x'.repeat(100_000)}"`),
  },
];

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const members = (depth: number) => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;

function tooDeep(name: string, body: string): Case {
  return { name, body, reply: parseError, onlyAsText: wireLimit };
}

/** The request object is one level, an array around it another. */
export const depth: readonly Case[] = [
  {
    name: 'depth 64: arrays',
    body: `{"method":"echo","params":${nested(63)},"id":1}`,
    reply: result('1', nested(62)),
  },
  {
    name: 'depth 64: objects',
    body: `{"method":"free","params":${members(63)},"id":1}`,
    reply: result('1', members(63)),
  },
  {
    name: 'depth 64 in a batch',
    body: `[{"method":"free","params":${members(62)},"id":1}]`,
    reply: `[${result('1', members(62))}]`,
  },
  {
    name: 'depth 64 in an unknown member',
    body: `{"extra":${nested(63)},"method":"get_data","id":1}`,
    reply: result('1', '["hello",5]'),
  },
  tooDeep('depth 65: arrays', `{"method":"echo","params":${nested(64)},"id":1}`),
  tooDeep('depth 65: objects', `{"method":"free","params":${members(64)},"id":1}`),
  tooDeep('depth 65: a notification', `{"method":"free","params":${members(64)}}`),
  tooDeep('depth 65: unknown method', `{"method":"nowhere","params":${members(64)},"id":1}`),
  tooDeep('depth 65: id first', `{"id":1,"method":"free","params":${members(64)}}`),
  tooDeep('depth 65 in a batch', `[{"method":"free","params":${members(63)},"id":1}]`),
  tooDeep('depth 65 in a batch of many', `[{"method":"get_data","id":1},${nested(64)}]`),
  tooDeep('depth 65 in an unknown member', `{"extra":${nested(64)},"method":"get_data","id":1}`),
  tooDeep(
    'depth 65 behind the params',
    `{"method":"get_data","params":[],"id":1,"x":${nested(64)}}`,
  ),
  tooDeep(
    'a large body of depth 65',
    `{"method":"echo","params":["${'x'.repeat(100_000)}",${nested(63)}],"id":1}`,
  ),
  tooDeep('a million brackets', '['.repeat(1_000_000)),
  tooDeep('100,000 brackets as params', `{"method":"free","params":${nested(100_000)},"id":1}`),
  {
    name: 'brackets in strings do not count',
    body: `{"method":"echo","params":["${'[{'.repeat(200)}\\"${'[{'.repeat(200)}\\\\"],"id":1}`,
    reply: result('1', `"${'[{'.repeat(200)}\\"${'[{'.repeat(200)}\\\\"`),
  },
  {
    name: 'brackets beside each other do not count',
    body: `{"method":"echo","params":[[${'[],{},'.repeat(200)}0]],"id":1}`,
    reply: result('1', `[${'[],{},'.repeat(200)}0]`),
  },
];

export const values: readonly Case[] = [
  {
    name: 'huge numbers are rounded to doubles, as JSON.parse does',
    body: '{"method":"echo","params":[[1e308,-0,0.1,123456789012345680000,1e-7]],"id":1}',
    reply: result('1', '[1e+308,0,0.1,123456789012345680000,1e-7]'),
  },
  {
    name: 'a number beyond double precision in the params',
    body: `{"method":"echo","params":[[9007199254740993,0.${'3'.repeat(5000)}]],"id":1}`,
    reply: result('1', '[9007199254740992,0.3333333333333333]'),
  },
  {
    name: '20,000 members',
    body: `{"method":"free","params":{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}`).join(',')}},"id":1}`,
    reply: result('1', `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}`).join(',')}}`),
  },
  {
    name: 'a method given as an element of a nested array is none',
    body: '[[{"method":"get_data","id":1}]]',
    reply: `[${invalid()}]`,
  },
  {
    name: 'params with __proto__ stay a member',
    body: '{"method":"prototypes","params":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}},"id":1}',
    reply: result('1', '{"polluted":null,"ownNames":["__proto__","constructor"],"isPlain":true}'),
  },
  {
    name: 'params with __proto__ come back as they went',
    body: '{"method":"free","params":{"__proto__":{"a":1},"b":{"__proto__":null}},"id":1}',
    reply: result('1', '{"__proto__":{"a":1},"b":{"__proto__":null}}'),
  },
  {
    name: 'params with __proto__ in a batch',
    body: '[{"method":"prototypes","params":{"__proto__":{"polluted":1}},"id":1}]',
    reply: `[${result('1', '{"polluted":null,"ownNames":["__proto__"],"isPlain":true}')}]`,
  },
  {
    name: 'a __proto__ beside the params changes nothing',
    body: '{"__proto__":{"polluted":true},"method":"prototypes","id":1}',
    reply: result('1', '{"polluted":null,"ownNames":[],"isPlain":true}'),
  },
  {
    name: 'a method of the prototype of a table',
    body: '[{"method":"get","id":1},{"method":"size","id":2}]',
    reply: `[${notFound('1', 'get')},${notFound('2', 'size')}]`,
  },
];
