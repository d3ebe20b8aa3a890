import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareParams, compareResults, runsCommands } from './command.ts';

type Case = readonly [what: string, before: unknown, after: unknown, lines: readonly string[]];

const text = { type: 'string' };
const number = { type: 'number' };
const integer = { type: 'integer' };
const object = (properties: object, required: readonly string[] = [], more: object = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
});
const literal = (value: unknown) => ({ const: value });
const dog = object({ kind: literal('dog'), name: text }, ['kind', 'name']);
const cat = object({ kind: literal('cat'), lives: integer }, ['kind', 'lives']);
const tree = (more: object) => ({
  $id: 'Tree',
  ...object({ left: { $ref: 'Tree' }, value: number, ...more }, ['value']),
});

const params: readonly Case[] = [
  ['the same', text, text, []],
  ['anything is taken now', text, {}, []],
  ['anything was taken', {}, text, ['! it no longer takes any value']],
  ['another type', text, number, ['! it no longer takes a string']],
  ['a type more', text, { type: ['string', 'null'] }, []],
  ['a type less', { type: ['string', 'null'] }, text, ['! null is no longer taken']],
  ['integers only', number, integer, ['! only integers are taken now']],
  ['fractions too', integer, number, []],
  ['a higher maximum', { ...number, maximum: 10 }, { ...number, maximum: 20 }, []],
  [
    'a limit of integers by another keyword',
    { ...integer, minimum: 1 },
    { ...integer, exclusiveMinimum: 0 },
    [],
  ],
  [
    'a limit of numbers by another keyword',
    { ...number, minimum: 1 },
    { ...number, exclusiveMinimum: 1 },
    ['! exclusiveMinimum: was not limited, is 1'],
  ],
  [
    'steps that hold the old ones',
    { ...integer, multipleOf: 6 },
    { ...integer, multipleOf: 3 },
    [],
  ],
  [
    'steps that differ',
    { ...integer, multipleOf: 3 },
    { ...integer, multipleOf: 6 },
    ['? multipleOf: was 3, is 6'],
  ],
  [
    'another pattern',
    { ...text, pattern: '^a' },
    { ...text, pattern: '^[ab]' },
    ['? pattern: was "^a", is "^[ab]"'],
  ],
  ['a value more', { enum: ['a', 'b'] }, { enum: ['b', 'c', 'a'] }, []],
  ['a value less', { enum: ['a', 'b'] }, { enum: ['a'] }, ['! "b" is no longer taken']],
  ['any text in place of values', { enum: ['a', 'b'] }, text, []],
  [
    'values of a text with a pattern',
    { enum: ['a'] },
    { ...text, pattern: 'a' },
    ['? "a": is it taken still?'],
  ],
  ['literals as a union', { anyOf: [literal('a'), literal('b')] }, { enum: ['a', 'b', 'c'] }, []],
  ['a member more, optional', object({ a: text }), object({ a: text, b: number }), []],
  [
    'a member more, required',
    object({ a: text }),
    object({ a: text, b: number }, ['b']),
    ['! .b it is required now'],
  ],
  ['a member is optional', object({ a: text }, ['a']), object({ a: text }), []],
  ['a member less, of an open object', object({ a: text, b: text }), object({ a: text }), []],
  [
    'a member less, of a closed object',
    object({ a: text, b: text }),
    object({ a: text }, [], { additionalProperties: false }),
    ['! .b it is no longer taken'],
  ],
  [
    'a member of another type',
    object({ a: object({ b: text }) }),
    object({ a: object({ b: number }) }),
    ['! .a.b it no longer takes a string'],
  ],
  [
    'a member with a strange name',
    object({ 'a b': text }),
    object({ 'a b': number }),
    ['! ["a b"] it no longer takes a string'],
  ],
  [
    'other members were allowed',
    object({}, [], { additionalProperties: true }),
    object({}, [], { additionalProperties: false }),
    ['! members of other names are no longer taken'],
  ],
  [
    'any object, then a shape',
    { type: 'object' },
    object({ a: text }, ['a']),
    ['! .a it is required now', '! .a it no longer takes any value'],
  ],
  [
    'a record of another type',
    { type: 'object', patternProperties: { '^(.*)$': text } },
    { type: 'object', patternProperties: { '^(.*)$': number } },
    ['! .* it no longer takes a string'],
  ],
  [
    'a record that was written otherwise',
    { type: 'object', patternProperties: { '^(.*)$': text } },
    { type: 'object', additionalProperties: text },
    [],
  ],
  [
    'other patterns of names',
    { type: 'object', patternProperties: { '^a': text } },
    { type: 'object', patternProperties: { '^b': text } },
    ['? patternProperties: was ["^a"], is ["^b"]'],
  ],
  [
    'a tuple as a list',
    { type: 'array', items: [text, number], additionalItems: false },
    { type: 'array', items: { type: ['string', 'number'] } },
    [],
  ],
  [
    'a list as a tuple',
    { type: 'array', items: text },
    { type: 'array', prefixItems: [text], items: false },
    ['! maxItems: was not limited, is 1'],
  ],
  [
    'a position of another type',
    { prefixItems: [text, text] },
    { prefixItems: [text, number] },
    ['! [1] it no longer takes a string'],
  ],
  ['a variant more', { anyOf: [dog] }, { anyOf: [dog, cat] }, []],
  [
    'a variant less',
    { anyOf: [dog, cat] },
    { anyOf: [cat] },
    ['! it no longer takes an object with "kind": "dog"'],
  ],
  [
    'a variant that changed, found by its discriminant',
    { anyOf: [dog, cat] },
    { oneOf: [cat, object({ kind: literal('dog'), name: integer }, ['kind', 'name'])] },
    ['! .name it no longer takes a string'],
  ],
  [
    'alternatives that overlap, exactly one of them',
    { anyOf: [text] },
    { oneOf: [text, { ...text, minLength: 3 }] },
    ['? several alternatives may take it'],
  ],
  [
    'parts put together',
    { allOf: [object({ a: text }, ['a']), object({ b: number })] },
    object({ a: text, b: number }, ['a']),
    [],
  ],
  [
    'parts, one of them narrower',
    object({ a: text }),
    { allOf: [object({ a: text }), object({ a: { maxLength: 3 } })] },
    ['! .a maxLength: was not limited, is 3'],
  ],
  [
    'parts of which one takes any member',
    {
      allOf: [object({ a: text }, [], { additionalProperties: true })],
      unevaluatedProperties: false,
    },
    object({ a: text }, [], { additionalProperties: false }),
    ['! members of other names are no longer taken'],
  ],
  [
    'parts that take no other member',
    { allOf: [object({ a: text })], unevaluatedProperties: false },
    object({ a: text }, [], { additionalProperties: false }),
    [],
  ],
  [
    'the same schema ruled out',
    { ...text, not: literal('a') },
    { ...text, not: literal('a'), maxLength: 3 },
    ['? maxLength: was not limited, is 3, unless not rules that out'],
  ],
  ['a type that refers to itself', tree({}), tree({ right: { $ref: 'Tree' } }), []],
  [
    'deep in a type that refers to itself',
    tree({ right: { $ref: 'Tree' } }),
    tree({ right: text }),
    ['! .right it no longer takes an object'],
  ],
  [
    'a condition',
    text,
    { if: text, else: { minLength: 1 } },
    ['? if: was not limited, is {"type":"string"}', '? else: was not limited, is {"minLength":1}'],
  ],
  ['a type of no JSON Schema', text, { type: 'Date' }, ['? type: was not limited, is "Date"']],
  ['the same type of no JSON Schema', { type: 'Date' }, { type: 'Date' }, []],
  ['nothing at all', text, false, ['! it no longer takes a string']],
];

const results: readonly Case[] = [
  ['a member more', object({ a: text }, ['a']), object({ a: text, b: text }, ['a', 'b']), []],
  [
    'a member more, of a closed object',
    object({ a: text }, ['a'], { additionalProperties: false }),
    object({ a: text, b: text }, ['a'], { additionalProperties: false }),
    [],
  ],
  [
    'a required member less',
    object({ a: text, b: text }, ['a', 'b']),
    object({ a: text }, ['a']),
    ['! .b it may be missing now'],
  ],
  [
    'a member may be missing',
    object({ a: text }, ['a']),
    object({ a: text }),
    ['! .a it may be missing now'],
  ],
  [
    'a member may be null',
    object({ a: text }, ['a']),
    object({ a: { type: ['string', 'null'] } }, ['a']),
    ['! .a it may be null now'],
  ],
  ['a value more', { enum: ['a'] }, { enum: ['a', 'b'] }, ['! it may be "b" now']],
  ['a value less', { enum: ['a', 'b'] }, { enum: ['a'] }, []],
  ['a variant more', dog, { anyOf: [dog, cat] }, ['! it may be an object with "kind": "cat" now']],
  [
    'a higher maximum',
    { ...number, maximum: 10 },
    { ...number, maximum: 20 },
    ['! maximum: was 10, is 20'],
  ],
  ['fractions', integer, number, ['! it may be a fraction now']],
  ['no longer declared', text, undefined, ['! it may be any value now']],
  ['declared now', undefined, text, []],
];

describe('params of the old contract, under the new one', () => {
  runsCommands();
  for (const [what, before, after, lines] of params) {
    it(what, async () => assert.deepEqual(await compareParams(before, after), lines));
  }
});

describe('results of the new contract, under the old one', () => {
  runsCommands();
  for (const [what, before, after, lines] of results) {
    it(what, async () => assert.deepEqual(await compareResults(before, after), lines));
  }
});

describe('references', () => {
  runsCommands();
  it('lead into the document of their side', async () => {
    const ref = { $ref: '#/components/schemas/Name' };
    const sides = { old: { Name: text }, new: { Name: { ...text, maxLength: 3 } } };
    assert.deepEqual(await compareParams(ref, ref, sides), ['! maxLength: was not limited, is 3']);
    assert.deepEqual(await compareParams(text, ref, { new: { Name: text } }), []);
  });

  it('within a keyword without rules count by what they lead to', async () => {
    const not = { ...text, not: { $ref: '#/components/schemas/Name' } };
    const sides = { old: { Name: literal('a') }, new: { Name: literal('b') } };
    assert.match((await compareParams(not, not, sides)).join(), /^\? not: was .*, is /);
    assert.deepEqual(await compareParams(not, not, { old: sides.old, new: sides.old }), []);
  });

  it('that lead to themselves are not followed for ever', async () => {
    const ref = { $ref: '#/components/schemas/A' };
    const round = { A: { $ref: '#/components/schemas/B' }, B: { anyOf: [ref, text] } };
    const lines = await compareParams(ref, text, { old: round });
    assert.deepEqual(lines, ['? a type in it leads only to itself, or has a check of its own']);
  });

  it('that lead only to themselves are not called compatible, even with the same', async () => {
    const ref = { $ref: '#/components/schemas/A' };
    const sides = { old: { A: ref }, new: { A: ref } };
    for (const [before, after] of [
      [ref, ref],
      [text, ref],
      [object({ a: ref }), object({ a: ref })],
    ])
      assert.match(
        (await compareParams(before, after, sides)).join(),
        /^\? (?:\.a )?a type in it leads only to itself, or has a check of its own$/,
      );
  });

  it('a type that is refuted in one alternative is not taken as proven in another', async () => {
    // `b` holds `a` again: the pair is taken as proven while `a` is compared, and `a` fails at its last member.
    const list = (last: object) => ({
      A: object({ b: { $ref: '#/components/schemas/B' }, last }, ['last']),
      B: object({ a: { $ref: '#/components/schemas/A' } }),
    });
    const both = object({
      a: { $ref: '#/components/schemas/A' },
      b: { $ref: '#/components/schemas/B' },
    });
    const lines = await compareParams(both, both, { old: list(text), new: list(number) });
    assert.ok(lines.includes('! .a.last it no longer takes a string'), lines.join('\n'));
    assert.ok(lines.includes('! .b.a.last it no longer takes a string'), lines.join('\n'));
  });
});

describe('schemas of strangers', () => {
  runsCommands();
  it('with many alternatives in many parts are not written out', async () => {
    const union = {
      anyOf: Array.from({ length: 30 }, (_, n) => object({ [`m${n}`]: text }, [`m${n}`])),
    };
    const lines = await compareParams({ allOf: [union, union, union] }, text);
    assert.deepEqual(lines, [
      '? it no longer takes an object, unless another part of it rules that out',
    ]);
  });

  it('have more differences than are told: the others are counted', async () => {
    const names = Array.from({ length: 502 }, (_, n) => `m${n}`);
    const of = (schema: object) => object(Object.fromEntries(names.map((name) => [name, schema])));
    const lines = await compareParams(of(text), of(number));
    assert.equal(lines.length, 501);
    assert.equal(lines.at(-1), '! 2 more differences are left out');
  });

  it('have patterns that are never run', async () => {
    const slow = { ...text, pattern: '^(a+)+$' };
    const lines = await compareParams({ enum: [`${'a'.repeat(60)}b`] }, slow);
    assert.match(lines[0] ?? '', /^\? "aaa.*is it taken still\?$/);
  });
});
