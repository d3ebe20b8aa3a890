/** Each schema that registration refuses: the line names the procedure, the place, the keyword and what to write instead. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { knownFormats, registerFormats } from '../../../src/core/schema/formats.ts';
import { keywords, type LimitedType } from '../../../src/core/schema/keywords.ts';
import { Type as OwnType, procedure, RegistrationError } from '../../../src/index.ts';

/** Schemas with the parts of the line after the place, each in its order. */
type Refusal = readonly [schemas: TSchema | readonly TSchema[], ...words: string[]];

const makers: Readonly<Record<LimitedType, (options: object) => TSchema>> = {
  number: (options) => Type.Number(options),
  string: (options) => Type.String(options),
  array: (options) => Type.Array(Type.Unknown(), options),
  object: (options) => Type.Object({}, options),
};

/** Wrong values of a keyword, and the words for a right one. */
const ownValues = {
  number: [['x', true, null, Infinity], 'must be a finite number, not'],
  step: [[0, -1, '1', Infinity, null], 'must be a number above 0, such as 0.01, not'],
  count: [[-1, 1.5, '3', null, true, NaN, 3n], 'must be a whole number, 0 or more, not'],
  string: [[/a/, 1, null, ['a']], 'must be a string, not'],
  boolean: [[1, 'true', null], 'must be true or false, not'],
} as const;

registerFormats();

const checked = keywords.filter(({ instead }) => instead === undefined);
const recursive = Type.Recursive((This) => Type.Union([This, Type.String()]));
/** Each level holds the first one. */
const endless = Type.Object({ a: Type.Number() });
(endless.properties as Record<string, TSchema>).self = endless;

const groups: Readonly<Record<string, readonly Refusal[]>> = {
  'keywords that nothing checks': keywords.flatMap(({ name, instead }) =>
    instead === undefined
      ? []
      : [[Type.Unknown({ [name]: {} }), `${name} is not checked here; ${instead}`]],
  ),
  'keywords with a value of their own that is none': checked.flatMap(({ name, type, takes }) => {
    if (takes === undefined || type === undefined) return [];
    const [values, words] = ownValues[takes];
    return [[values.map((value) => makers[type]({ [name]: value })), `${name} ${words}`]];
  }),
  'keywords beside values of several types': checked.flatMap(({ name, type, describes }) => {
    if (type === undefined || describes === true) return [];
    const line = `${name} stands beside values of several types; put it on the ${type}`;
    return [[Type.Unknown({ [name]: 1 }), line]];
  }),
  formats: knownFormats().map((name) => [
    Type.String({ format: `${name}-0` }),
    `unknown format "${name}-0"`,
    'Known: ',
    name,
  ]),
  'kinds that JSON has not': [
    Type.Date(),
    Type.BigInt(),
    Type.Uint8Array(),
    Type.RegExp(/x/),
    Type.AsyncIterator(Type.Null()),
    Type.Constructor([], Type.Null()),
    Type.Function([], Type.Null()),
    Type.Iterator(Type.Null()),
    Type.Promise(Type.Null()),
    Type.Symbol(),
    Type.Argument(0),
  ].map((schema) => [schema, 'JSON has no ', '; use ']),
  'member names': Object.getOwnPropertyNames(Object.prototype).flatMap((name) =>
    [Type.Null(), Type.Optional(Type.Null())].map((member) => [
      Type.Object(Object.fromEntries([[name, member]])),
      `the member name "${name}" is one every object inherits`,
      '; rename it',
    ]),
  ),
  patterns: [
    [Type.String({ pattern: '^(a+)+$' }), 'the pattern "^(a+)+$" backtracks', '; rewrite it'],
    [
      ['^(a+)+$', '^a*a*$'].map((pattern) => Type.String({ pattern, maxLength: 1_000_000 })),
      'the pattern ',
      ' backtracks',
      '; rewrite it',
    ],
    [Type.String({ pattern: '(' }), 'the pattern "(" is no regular expression'],
    [
      [Type.String({ pattern: '\\-' }), Type.String({ pattern: '\\-', enum: ['-'] })],
      'the pattern "\\\\-" is no regular expression',
      ' with the flag u',
      '; write "-"',
    ],
    [
      Type.Record(Type.String({ pattern: '^\\-' }), Type.Null()),
      'patternProperties: the pattern "^\\\\-" is no regular expression',
      '; write "^-"',
    ],
    [
      Type.Record(Type.String({ pattern: '^(b|b)*$' }), Type.Null()),
      'patternProperties: the pattern "^(b|b)*$" backtracks',
      '; rewrite it',
    ],
    [Type.Not(Type.String({ pattern: '^a*a*$' })), 'the pattern "^a*a*$" backtracks', 'maxLength'],
  ],
  'other forms': [
    [{ type: 'string' } as unknown as TSchema, 'not a TypeBox schema; build it with Type'],
    [Type.Unsafe({}), 'the kind "Unsafe" is not in TypeBox', '; set its check there first'],
    [
      Type.Transform(Type.String()).Decode(Number).Encode(String),
      'Type.Transform is not applied to calls; declare the JSON type',
    ],
    [
      Type.String({ enum: [1] }),
      'none of the values of enum is one of this string; write some that are',
    ],
    [
      { ...Type.Object({}, { additionalProperties: false }), required: ['a'] },
      'required names "a", which properties does not declare; declare it',
    ],
    [{ ...Type.Object({}), properties: 1 } as TSchema, 'an object schema needs properties; write '],
    [
      Type.Tuple([
        Type.Object({ a: Type.Null() }, { $id: 'A' }),
        Type.Object({ b: Type.Null() }, { $id: 'A' }),
      ]),
      'two different schemas have the $id "A"; rename one',
    ],
  ],
  'references and sizes, which are of the whole': [
    [Type.Ref('A'), 'leads nowhere', ' $id "A"; write the $id of one'],
    [recursive, 'a type in it holds itself without a step', '; put it in a member or an item'],
    [endless, 'schemas nest at most 64 levels; use Type.Recursive'],
    [
      Type.Tuple(Array.from({ length: 10_000 }, () => Type.Null())),
      'a schema has at most 10000 parts, written out; declare types that it uses again once',
    ],
    [
      Type.Union(Array.from({ length: 300 }, (_, n) => Type.Object({ [`m${n}`]: Type.Null() }))),
      'more than 256 schemas; tell the alternatives of a union apart by a required member',
    ],
  ],
};

/** Wraps a schema, so that the place in it is not the top. */
const places: readonly (readonly [path: string, wrap: (schema: TSchema) => TSchema])[] = [
  ['/value', (value) => Type.Object({ value })],
  ['/list/*/1', (value) => Type.Object({ list: Type.Array(Type.Tuple([Type.Null(), value])) })],
  ['/x', (value) => Type.Object({ x: Type.Optional(Type.Union([OwnType.Base64(), value])) })],
];

for (const [what, refusals] of Object.entries(groups)) {
  describe(`registration refuses ${what}`, () => {
    for (const [schemas, ...words] of refusals) {
      test(words.join(' ... '), () => {
        const isOfWhole = what.endsWith('of the whole');
        for (const [path, wrap] of places) {
          for (const wrapped of [schemas].flat().map(wrap)) {
            for (const side of ['params', 'returns']) {
              const options = { name: 'p', [side]: wrapped } as object as { name: string };
              assert.throws(
                () => procedure(options, () => null as never),
                (error) => {
                  assert.ok(error instanceof RegistrationError, String(error));
                  const { message } = error;
                  const start = `procedure "p": ${side}`;
                  assert.ok(message.startsWith(isOfWhole ? start : `${start} at ${path}`), message);
                  assert.doesNotMatch(message, /\n/);
                  let at = 0;
                  for (const word of words) {
                    const found = message.indexOf(word, at);
                    assert.ok(found >= 0, `${message} does not say ${word}`);
                    at = found + word.length;
                  }
                  return true;
                },
              );
            }
          }
        }
      });
    }
  });
}
