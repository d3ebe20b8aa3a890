import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { z } from 'zod';
import { getProcedureSchema, procedure, Router, RpcError, Type } from '../../../src/index.ts';
import { cases, seed } from '../../seed.ts';
import { discover } from '../document/discover.ts';
import { bind, build, issues, refuses } from './params.ts';

/** The same params, as each library writes them. */
const libraries = {
  typebox: Type.Object({
    name: Type.String({ minLength: 2 }),
    age: Type.Optional(Type.Integer({ minimum: 0 })),
    tags: Type.Optional(Type.Array(Type.String())),
  }),
  'object of schemas': {
    name: Type.String({ minLength: 2 }),
    age: Type.Optional(Type.Integer({ minimum: 0 })),
    tags: Type.Optional(Type.Array(Type.String())),
  },
  zod: z.strictObject({
    name: z.string().min(2),
    age: z.int().min(0).optional(),
    tags: z.array(z.string()).optional(),
  }),
  arktype: type({
    '+': 'reject',
    name: 'string >= 2',
    'age?': 'number.integer >= 0',
    'tags?': 'string[]',
  }),
  valibot: toStandardJsonSchema(
    v.strictObject({
      name: v.pipe(v.string(), v.minLength(2)),
      age: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
      tags: v.optional(v.array(v.string())),
    }),
  ),
};

for (const [library, schema] of Object.entries(libraries)) {
  describe(`params of ${library}`, () => {
    test('are bound by name, and by position where their order is known', () => {
      const params = { name: 'Ann', age: 3, tags: ['a'] };
      assert.deepEqual(bind(schema, params), params);
      if (library === 'arktype') {
        assert.match(issues(schema, ['Ann'])[0]!.message, /must be named/);
        assert.equal(issues(schema, [])[0]?.path, '/name');
      } else assert.deepEqual(bind(schema, ['Ann', 3]), { name: 'Ann', age: 3 });
    });

    test('are refused in the same words', () => {
      for (const [given, path, message, expected, received] of [
        [{}, '/name', 'is required', 'string', 'undefined'],
        [{ name: 5 }, '/name', 'must be string', 'string', 'number'],
        [{ name: 'A' }, '/name', 'must be a string of at least 2 characters', 'string', 'string'],
        [{ name: 'Ann', age: -1 }, '/age', 'must be at least 0', 'number', 'number'],
        [{ name: 'Ann', age: null }, '/age', 'must be number', 'number', 'null'],
        [{ name: 'Ann', tags: ['a', 7] }, '/tags/1', 'must be string', 'string', 'number'],
        [
          { name: 'Ann', nmae: 1 },
          '/nmae',
          'is not known here; did you mean name?',
          'never',
          'number',
        ],
      ] as const) {
        assert.deepEqual(issues(schema, given), [{ path, message, expected, received }]);
      }
    });

    test('are refused without the values, and with few issues', () => {
      const secret = 'hunter2'.repeat(10);
      const text = JSON.stringify(
        issues(schema, { name: [secret], age: secret, tags: { secret } }),
      );
      assert.doesNotMatch(text, /hunter2/);
      const many = issues(schema, { name: 'Ann', tags: Array.from({ length: 1000 }, (_, n) => n) });
      assert.equal(many.length, 8);
    });

    // An object of schemas is for params alone.
    if (library !== 'object of schemas') {
      test('describe results, which are projected and checked', () => {
        const { result } = procedure(
          { returns: schema as typeof libraries.zod },
          () => null as never,
        );
        const right = { name: 'Ann', age: 3, tags: ['a'] };
        assert.deepEqual(result?.project({ ...right, secret: 1 }), right);
        assert.equal(result.mismatchOf(right), undefined);
        for (const wrong of [
          {},
          { name: 'A' },
          { name: 'Ann', age: 1.5 },
          { name: 'Ann', age: -1 },
          { name: 'Ann', tags: ['a', 7] },
          { name: 'Ann', tags: {} },
          { name: 'Ann', more: 1 },
        ]) {
          const isOpen = library === 'typebox' && 'more' in wrong;
          assert.equal(result.mismatchOf(wrong) === undefined, isOpen, JSON.stringify(wrong));
        }
      });
    }

    test('are in the documents', async () => {
      const router = new Router();
      router.register('p', build(schema));
      const { parameters } = getProcedureSchema(router.get('p')!);
      assert.deepEqual(
        Object.fromEntries(
          parameters.map(({ name, type: text, required }) => [name, [text, required]]),
        ),
        { name: ['string', true], age: ['number', false], tags: ['string[]', false] },
      );
      const { methods } = await discover(router);
      const [method] = methods;
      assert.equal(method?.paramStructure, library === 'arktype' ? 'by-name' : 'either');
    });
  });
}

describe('a schema of another library', () => {
  test('fills in and transforms', () => {
    const schema = z.object({
      a: z.number().default(1),
      b: z.string().transform((text) => text.length),
    });
    assert.deepEqual(bind(schema, { b: 'abc' }), { a: 1, b: 3 });
    assert.deepEqual(bind(schema, [7, 'abc']), { a: 7, b: 3 });
    const { parameters } = getProcedureSchema(build(schema));
    assert.deepEqual(
      parameters.map(({ name, type: text, required, default: fallback }) => [
        name,
        text,
        required,
        fallback,
      ]),
      [
        ['a', 'number', false, 1],
        ['b', 'string', true, undefined],
      ],
    );
  });

  test('has its own rule for unknown names', () => {
    assert.deepEqual(bind(z.object({ a: z.number() }), { a: 1, x: 2 }), { a: 1 });
    assert.deepEqual(bind(z.looseObject({ a: z.number() }), { a: 1, x: 2 }), { a: 1, x: 2 });
  });

  test('has its own message for a check of its own, unless that holds a value', () => {
    const told = z.object({ a: z.string().refine((text) => text !== 'secret', 'is taken') });
    assert.deepEqual(issues(told, { a: 'secret' }), [
      { path: '/a', message: 'is taken', expected: 'string', received: 'string' },
    ]);
    const leaks = z.object({
      a: z.string().refine(() => false, { error: ({ input }) => `not ${String(input)}` }),
    });
    assert.equal(
      issues(leaks, { a: 'secret' })[0]?.message,
      'does not pass the check of its schema',
    );
    const ark = type({ n: type('number').narrow((n, ctx) => n > 5 || ctx.mustBe('lucky')) });
    const [issue] = issues(ark, { n: 3 });
    assert.deepEqual(issue, {
      path: '/n',
      message: 'does not pass the check of its schema',
      expected: 'number',
      received: 'number',
    });
    const own = toStandardJsonSchema(
      v.object({
        a: v.pipe(
          v.string(),
          v.check((text) => text.length > 2, 'too short'),
        ),
      }),
    );
    assert.equal(issues(own, { a: 'x' })[0]?.message, 'too short');
    const between = z
      .object({ a: z.string(), b: z.string() })
      .refine(({ a, b }) => a === b, { path: ['b'], error: 'must be the same' });
    assert.deepEqual(issues(between, { a: '1', b: '2' }), [
      { path: '/b', message: 'must be the same', expected: 'string', received: 'string' },
    ]);
  });

  test('results are projected onto what it declares, and checked', () => {
    const { result } = procedure(
      { returns: z.object({ id: z.number(), tags: z.array(z.string()) }) },
      () => ({ id: 1, tags: [] }),
    );
    const row = { id: 1, tags: ['a'], password_hash: 'secret' };
    assert.deepEqual(result?.project(row), { id: 1, tags: ['a'] });
    assert.match(
      result!.mismatchOf(result!.project({ id: 'x', tags: [] }))!,
      /^\/id must be number/,
    );
    const record = procedure(
      { returns: z.record(z.string(), z.object({ id: z.number() })) },
      () => ({}),
    );
    assert.deepEqual(record.result?.project({ a: row }), { a: { id: 1 } });
    const shapes = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), x: z.number() }),
      z.object({ kind: z.literal('b'), y: z.number().nullable() }),
    ]);
    const either = procedure(
      { returns: z.tuple([shapes]) },
      () => [{ kind: 'b' as const, y: null }] as [{ kind: 'b'; y: null }],
    );
    assert.deepEqual(either.result?.project([{ kind: 'b', y: 1, x: 2 }]), [{ kind: 'b', y: 1 }]);
  });

  test('may hold itself', () => {
    const Node = z.object({
      v: z.number(),
      get next() {
        return z.union([Node, z.null()]).optional();
      },
    });
    assert.deepEqual(bind(Node, { v: 1, next: { v: 2, next: null } }), {
      v: 1,
      next: { v: 2, next: null },
    });
    assert.deepEqual(issues(Node, { v: 1, next: { v: 'x' } }), [
      { path: '/next/v', message: 'must be number', expected: 'number', received: 'string' },
    ]);
    const [, next] = getProcedureSchema(build(Node)).parameters;
    assert.ok(next?.schema_.$defs !== undefined);
  });
});

describe('at registration', () => {
  test('what JSON does not have is refused with the words of the library', () => {
    refuses(
      { params: z.object({ d: z.date() }) },
      /params: zod can't say what this is in JSON Schema: Date cannot.*; declare a string, of zod z\.iso\.datetime\(\)/,
    );
    refuses({ params: z.object({ d: z.bigint() }) }, /BigInt cannot be represented.*z\.string\(\)/);
    refuses(
      { returns: z.object({ d: z.string().transform(Number) }) },
      /returns: zod .*Transforms cannot.*declare returns as what is sent/,
    );
    const checked = v.object({
      a: v.pipe(
        v.string(),
        v.check((text) => text !== ''),
      ),
    });
    refuses({ returns: toStandardJsonSchema(checked) }, /returns: valibot .*cannot be converted/);
  });

  test('a schema that says nothing of JSON Schema is refused', () => {
    refuses(
      { params: v.object({ a: v.string() }) },
      /does not say what it is in JSON Schema; add import { toStandardJsonSchema } from '@valibot\/to-json-schema' and declare toStandardJsonSchema\(/,
    );
    refuses({ params: z.string() }, /params must be an object: its JSON Schema has another type/);
  });

  test('names that every object inherits, and patterns that backtrack, are refused as in any schema', () => {
    refuses(
      { params: z.object({ constructor: z.string() }) },
      /the member name "constructor" is one every object inherits/,
    );
    refuses({ params: z.object({ a: z.string().regex(/^(a+)+$/) }) }, /backtracks/);
  });

  const mail = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
  const ofLength = (length: number): string => `${'a'.repeat(length - 5)}@b.cd`;

  /** A schema that counts how often its library validates. */
  const counted = ({ '~standard': own }: { readonly '~standard': object }) => {
    const { validate } = own as { readonly validate: (value: unknown) => unknown };
    const calls: unknown[] = [];
    const counting = (value: unknown): unknown => {
      calls.push(value);
      return validate(value);
    };
    return { calls, schema: { '~standard': { ...own, validate: counting } } };
  };

  for (const [library, schema] of Object.entries({
    zod: z.object({ mail: z.string().regex(mail) }),
    valibot: toStandardJsonSchema(v.object({ mail: v.pipe(v.string(), v.regex(mail)) })),
    arktype: type({ mail }),
  })) {
    test(`a string of ${library} is measured before its library matches a pattern of polynomial time`, () => {
      const { calls, schema: own } = counted(schema);
      const built = build(own);
      const [published] = getProcedureSchema(built).parameters;
      const most = (published!.schema_ as { maxLength: number }).maxLength;
      assert.ok(most >= 64 && most < 300, `${most}`);
      const longest = ofLength(most);
      assert.deepEqual(built.bindParams({ mail: longest }), { mail: longest });
      assert.equal(calls.length, 1);
      const [issue] = issues(own, { mail: ofLength(most + 1) });
      assert.equal(issue!.path, '/mail');
      assert.match(issue!.message, new RegExp(`at most ${most} characters$`));
      assert.equal(calls.length, 1);
      assert.equal(issues(own, { mail: 1 })[0]!.received, 'number');
    });
  }

  test('a smaller max of its own counts, a larger one is refused', () => {
    const text = z.string().regex(mail);
    const small = counted(z.object({ mail: text.max(20) }));
    assert.deepEqual(bind(small.schema, { mail: ofLength(20) }), { mail: ofLength(20) });
    assert.match(
      issues(small.schema, { mail: ofLength(21) })[0]!.message,
      /at most 20 characters$/,
    );
    assert.equal(small.calls.length, 1);
    refuses({ params: z.object({ mail: text.max(5000) }) }, /at \/mail: .*maxLength of at most /);
  });

  test('strings are measured wherever the schema holds them, as code points', () => {
    const text = z.string().regex(/foo.*bar/);
    const Tree = z.object({
      text: text.optional(),
      get kids() {
        return z.array(Tree).optional();
      },
    });
    const schema = z.object({
      list: z.array(text).optional(),
      pair: z.tuple([z.number(), text]).optional(),
      names: z.record(text, z.number()).optional(),
      values: z.record(z.string(), text).optional(),
      rest: z.object({ known: z.string() }).catchall(text).optional(),
      both: z.intersection(z.object({ a: text }), z.object({ b: z.string() })).optional(),
      either: z.union([z.object({ a: text }), z.literal('none'), z.null()]).optional(),
      tree: Tree.optional(),
    });
    const good = `foo${'😀'.repeat(100)}bar`;
    const long = `foo${'x'.repeat(200)}bar`;
    const { calls, schema: own } = counted(schema);
    for (const [where, wrap] of Object.entries({
      '/list/1': (one: string) => ({ list: [good, one] }),
      '/pair/1': (one: string) => ({ pair: [1, one] }),
      '/names': (one: string) => ({ names: { [one]: 1 } }),
      '/values/a': (one: string) => ({ values: { a: one } }),
      '/rest/other': (one: string) => ({ rest: { known: long, other: one } }),
      '/both/a': (one: string) => ({ both: { a: one, b: long } }),
      '/either/a': (one: string) => ({ either: { a: one } }),
      '/tree/kids/0/kids/1/text': (one: string) => ({
        tree: { kids: [{ kids: [{ text: good }, { text: one }] }] },
      }),
    })) {
      assert.doesNotThrow(() => bind(own, wrap(good)), where);
      calls.length = 0;
      assert.ok(issues(own, wrap(long))[0]!.path.startsWith(where), where);
      assert.equal(calls.length, 0, where);
    }
  });

  test('a pattern of polynomial time is refused where longer strings pass by another part', () => {
    const text = z.string().regex(mail);
    for (const params of [
      { a: z.union([text, z.string().min(1000)]) },
      { a: z.union([z.object({ b: text }), z.object({ c: z.string() })]) },
      { a: z.union([z.array(text), z.array(z.string())]) },
    ]) {
      refuses(
        { params: z.object(params) },
        /at \/a.*: longer strings pass here by another part of the schema, and the pattern .* backtracks/,
      );
    }
    for (const params of [
      { a: text.or(z.literal('a'.repeat(1000))) },
      { a: text.nullable() },
      { a: text.or(z.int()) },
    ])
      assert.doesNotThrow(() => build(z.object(params)));
  });

  test('a pattern is published as what it matches by its flags, or refused', () => {
    const write: Record<string, (patterns: readonly RegExp[]) => unknown> = {
      zod: (patterns) =>
        z.object({
          list: z.array(
            z.union([z.number(), patterns.reduce((of, one) => of.regex(one), z.string())]),
          ),
        }),
      valibot: (patterns) => {
        const [first = /x/, second = first] = patterns;
        const text = v.pipe(v.string(), v.regex(first), v.regex(second));
        return toStandardJsonSchema(v.object({ list: v.array(v.union([v.number(), text])) }));
      },
      arktype: (patterns) => {
        const text = patterns.reduce((of, one) => of.and(type(one)), type('string'));
        return type({ list: type('number').or(text).array() });
      },
    };
    const flags = fc.uniqueArray(fc.constantFrom('d', 'g', 'i', 'm', 's', 'u', 'y'), {
      maxLength: 7,
    });
    const sources = ['^[a-y]*z$', '^a.b$', '^[^ck]+$', '^(?:à|É|-)[^\\s]$', '^ſ?K$'];
    const text = fc.stringMatching(/^[a-dA-Dkz\n \-àÀéÉſK\u{1f600}]{0,4}$/u);
    const first = /^[^0]*$/;
    const published = (params: unknown): RegExp => {
      const document = JSON.stringify(getProcedureSchema(build(params)));
      const texts = Array.from(document.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g), ([, text]) =>
        String(JSON.parse(text ?? '')),
      );
      const [pattern = assert.fail(document)] = texts.filter((one) => one !== first.source);
      return new RegExp(pattern, 'u');
    };
    for (const [library, of] of Object.entries(write)) {
      const rule = (
        source: string,
        chosen: readonly string[],
        isSecond: boolean,
        value: string,
      ) => {
        const pattern = new RegExp(source, chosen.join(''));
        const params = of(isSecond ? [first, pattern] : [pattern]);
        if (pattern.multiline || pattern.sticky) {
          refuses({ params }, /: the pattern .* has the flags [dgimsuy]+, which JSON Schema lacks/);
          return;
        }
        // Without u such a character is two.
        if (!pattern.unicode && value !== value.replace(/[\u{10000}-\u{10ffff}]/gu, '')) return;
        pattern.lastIndex = 0;
        const said = published(params);
        assert.equal(said.test(value), pattern.test(value), `${library}, ${pattern}, ${said}`);
      };
      const property = fc.property(fc.constantFrom(...sources), flags, fc.boolean(), text, rule);
      fc.assert(property, { seed, numRuns: cases(200) });
      // Two units that no class of one unit has.
      assert.match('A😀B', published(of([/^[a-c]?😀b$/i])));
      refuses({ params: of([/^(?:a|A)*$/i]) }, /backtracks/);
      refuses({ params: of([/^(a)\1$/i]) }, /has the flags i, which JSON Schema lacks/);
      refuses({ params: of([/^a$/, /^a$/i]) }, /is also there with other flags/);
    }
  });

  test('each pattern of a string is judged and in the documents, not the first alone', () => {
    const patterns = ['^[a-c]*$', '^[^d]*$', '^(?:a|b|c)*$'];
    const of = {
      zod: (all: readonly RegExp[]) =>
        z.object({ text: all.reduce((text, one) => text.regex(one), z.string()) }),
      valibot: ([one = /x/, two = one, three = two]: readonly RegExp[]) =>
        toStandardJsonSchema(
          v.object({ text: v.pipe(v.string(), v.regex(one), v.regex(two), v.regex(three)) }),
        ),
      arktype: (all: readonly RegExp[]) =>
        type({ text: all.reduce((text, one) => text.and(type(one)), type('string')) }),
    };
    for (const [library, write] of Object.entries(of)) {
      const good = patterns.map((one) => new RegExp(one));
      const text = JSON.stringify(getProcedureSchema(build(write(good))));
      for (const pattern of patterns)
        assert.ok(text.includes(JSON.stringify(pattern)), `${library}: ${text}`);
      for (let place = 0; place < 3; place++)
        refuses({ params: write(good.with(place, /^(?:a|a)*$/)) }, /backtracks/);
    }
  });

  test('a pattern beside a known format is looked at, too', () => {
    refuses({ params: z.object({ a: z.email({ pattern: /^(a+)+@b$/ }) }) }, /backtracks/);
  });

  const lying = (jsonSchema: unknown, validate: unknown = () => ({ value: {} })) => ({
    '~standard': {
      version: 1,
      vendor: 'liar',
      validate,
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
    },
  });

  test('a JSON Schema that is none is refused', () => {
    const endless: Record<string, unknown> = { type: 'object', properties: {} };
    endless.properties = { a: endless };
    let deep: unknown = { type: 'string' };
    for (let level = 0; level < 100; level++) deep = { type: 'array', items: deep };
    refuses({ params: lying(undefined) }, /can't say what this is|no object/);
    refuses({ params: lying(5) }, /its JSON Schema is no object/);
    refuses({ params: lying(endless) }, /can't say what this is/);
    refuses({ params: lying({ type: 'object', properties: { a: deep } }) }, /64 levels/);
    refuses(
      { params: lying({ type: 'object', properties: { a: { $ref: '#/$defs/gone' } } }) },
      /refers to "#\/\$defs\/gone"/,
    );
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        {
          type: 'object',
          properties: { a: { $ref: `#/$defs/d${n + 1}` }, b: { $ref: `#/$defs/d${n + 1}` } },
        },
      ]),
    );
    // Each of the types is one, however many references lead to it.
    const shared = lying({
      type: 'object',
      properties: { a: { $ref: '#/$defs/d0' } },
      $defs: { ...doubling, d40: {} },
    });
    assert.doesNotThrow(() => bind(shared, { a: { a: {} } }));
    const properties = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`m${n}`, {}]));
    refuses({ params: lying({ type: 'object', properties }) }, /10000 parts/);
  });

  test('one of another version is refused, and one without a name is told as such', () => {
    const { '~standard': own } = lying({ type: 'object', properties: {} });
    refuses(
      { params: { '~standard': { ...own, version: 2 } } },
      /\(liar\) has another version of Standard Schema than 1/,
    );
    for (const vendor of [Symbol('vendor'), Object.create(null), undefined, '']) {
      const late = { '~standard': { ...own, vendor, validate: async () => ({ value: {} }) } };
      assert.throws(() => bind(late, {}), /of a library without a name\) validates asynchron/);
    }
  });

  test('one whose issues are none refuses all the same, and never by a fault', () => {
    const json = { type: 'object', properties: {} };
    const odd = [
      null,
      5,
      { message: { toString: null } },
      { message: 'm', path: [null, undefined, Symbol('s'), {}, -1, Number.NaN] },
      { message: 'm', path: 5 },
      { message: 'm', path: ['__proto__', 'constructor'] },
    ];
    for (const [at, issue] of odd.entries()) {
      const [told] = issues(
        lying(json, () => ({ issues: [issue] })),
        {},
      );
      assert.ok(told !== undefined, `issue ${at}`);
    }
  });

  test('one that describes other values than it takes never refuses or lets in by that', () => {
    const says = lying(
      { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      (value: unknown) =>
        typeof (value as { a: unknown }).a === 'string'
          ? { value }
          : { issues: [{ message: 'no', path: ['a'] }] },
    );
    assert.deepEqual(bind(says, { a: 'text' }), { a: 'text' });
    assert.deepEqual(issues(says, { a: 5 }), [
      { path: '/a', message: 'no', expected: 'number', received: 'number' },
    ]);
  });

  test('one that throws, waits or returns nothing is a fault of the procedure', async () => {
    const json = { type: 'object', properties: {} };
    const faults: readonly (readonly [unknown, RegExp])[] = [
      [
        () => {
          throw new Error('trap');
        },
        /trap/,
      ],
      [async () => ({ value: {} }), /liar\) validates asynchronously: use a middleware/],
      [() => Promise.reject(new Error('late')), /use a middleware/],
      [() => undefined, /returned no result/],
      [() => ({}), /neither a value nor issues/],
    ];
    for (const [validate, message] of faults) {
      assert.throws(
        () => bind(lying(json, validate), {}),
        (error) => {
          assert.ok(!(error instanceof RpcError));
          assert.match(String(error), message);
          return true;
        },
      );
    }
    // A rejection that nobody handles would end the process here.
    await new Promise(setImmediate);
    assert.equal(
      issues(
        lying(json, () => ({ issues: [] })),
        {},
      )[0]?.message,
      'does not pass the check of its schema',
    );
    assert.equal(
      issues(
        lying(json, () => ({ issues: [{ path: Array(1000).fill('x'.repeat(1000)) }] })),
        {},
      ).length,
      1,
    );
  });

  test('an object of schemas holds schemas of TypeBox only', () => {
    refuses(
      { params: { a: z.string() } },
      /"a" is no TypeBox schema.*take the library's own object/,
    );
    refuses(
      { params: { type: 'object', properties: {} } },
      /"type" is no TypeBox schema.*build each with Type/,
    );
    refuses({ params: { toString: Type.String() } }, /one every object inherits/);
    refuses({ params: Type.String() }, /params must be a TypeBox object/);
  });
});
