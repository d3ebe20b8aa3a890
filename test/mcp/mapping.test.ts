/** docs/mcp.md, "What a model sees": names, schemas, pages. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withPauses } from '../../src/core/base/timer.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import { model } from '../../src/core/procedures/schema/type.ts';
import { Catalogue, toolNames as naming, pageLength } from '../../src/extras/mcp/catalogue.ts';
import { Router, Type } from '../../src/index.ts';

interface Listed {
  readonly name: string;
  readonly title: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
}

/** Names of few procedures, which are there at once. */
function toolNames(procedures: readonly string[]): string[] {
  const names = withPauses(naming(procedures));
  return names instanceof Promise ? assert.fail() : names;
}

async function listed(router: Router, patterns: readonly string[] = []): Promise<Listed[]> {
  const catalogue = await Catalogue.of(tableOf(router), patterns);
  const page = await catalogue.page(undefined, 'modern');
  return JSON.parse(`[${page?.text}]`) as Listed[];
}

describe('names of tools', () => {
  test('have the characters that every host takes', () => {
    assert.deepEqual(toolNames(['add', 'math.add', 'a/b:c-d', 'x_1']), [
      'add',
      'math_add',
      'a_b_c-d',
      'x_1',
    ]);
  });

  test('are told apart by a mark where they would be the same, whatever the order', () => {
    const [one, other, exact] = toolNames(['a.b', 'a/b', 'a_b']);
    assert.match(one ?? '', /^a_b_[\da-f]{8}$/);
    assert.match(other ?? '', /^a_b_[\da-f]{8}$/);
    assert.notEqual(one, other);
    assert.equal(exact, 'a_b');
    assert.deepEqual(toolNames(['a_b', 'a/b', 'a.b']), ['a_b', other, one]);
    // A procedure may be called what the mark of another one would make.
    const clash = toolNames(['a.b', 'a/b', one ?? '']);
    assert.equal(clash[2], one);
    assert.equal(new Set(clash).size, 3);
  });

  test('are 64 characters at most', () => {
    const long = `${'x'.repeat(70)}.a`;
    const [name] = toolNames([long]);
    assert.match(name ?? '', /^x{55}_[\da-f]{8}$/);
    assert.deepEqual(toolNames(['y', long]), ['y', name]);
    assert.deepEqual(toolNames(['z'.repeat(64)]), ['z'.repeat(64)]);
  });
});

describe('tools', () => {
  test('are those that the patterns name, without those that are kept from models', async () => {
    const router = new Router();
    for (const name of ['math.add', 'math.sub', 'user.get', 'other']) router.rpc({ name }, () => 1);
    router.rpc({ name: 'math.secret', tool: false }, () => 1);
    const names = async (...patterns: string[]): Promise<string[]> =>
      (await listed(router, patterns)).map(({ title }) => title);
    assert.deepEqual(await names(), ['math.add', 'math.sub', 'user.get', 'other']);
    assert.deepEqual(await names('math.*', 'other'), ['math.add', 'math.sub', 'other']);
    assert.deepEqual(await names('*.get'), ['user.get']);
    assert.deepEqual(await names('math'), []);
    const some = await Catalogue.of(tableOf(router), ['math.*', 'meth.*']);
    assert.deepEqual(some.unmatched, ['meth.*']);
    const all = await Catalogue.of(tableOf(router), []);
    assert.equal(all.find('math.secret'), undefined);
  });

  test('say of their effects what is declared, and nothing else', async () => {
    const router = new Router();
    router.rpc({ name: 'a', effects: { destructive: true, idempotent: false } }, () => 1);
    router.rpc({ name: 'b' }, () => 1);
    const [a, b] = await listed(router);
    assert.deepEqual(a?.annotations, { destructiveHint: true, idempotentHint: false });
    assert.equal('annotations' in (b ?? {}), false);
  });

  test('have schemas in one piece: definitions in place of ids', async () => {
    const router = new Router();
    const Node = Type.Recursive((This) =>
      Type.Object({ value: Type.Number(), children: Type.Array(This) }),
    );
    const Id = Type.String({ $id: 'an id/~', minLength: 1 });
    router.rpc(
      {
        name: 'tree',
        params: { root: Node, id: Id, again: Type.Optional(Type.Ref(Id)) },
        returns: Node,
      },
      ({ root }) => root,
    );
    const [tool = assert.fail()] = await listed(router);
    const node = {
      type: 'object',
      properties: {
        value: { type: 'number' },
        children: { type: 'array', items: { $ref: '#/$defs/T0' } },
      },
      required: ['value', 'children'],
    };
    assert.deepEqual(tool.inputSchema, {
      type: 'object',
      properties: {
        root: { $ref: '#/$defs/T0' },
        id: { $ref: '#/$defs/an_id__' },
        again: { $ref: '#/$defs/an_id__' },
      },
      required: ['root', 'id'],
      additionalProperties: false,
      $defs: { T0: node, an_id__: { type: 'string', minLength: 1 } },
    });
    assert.deepEqual(tool.outputSchema, { ...node, $defs: { T0: node } });
  });

  test('have tuples that both dialects read', async () => {
    const router = new Router();
    const pair = Type.Tuple([Type.Number(), Type.String()]);
    router.rpc({ name: 'a', params: { pair, none: Type.Tuple([]) } }, () => 1);
    const [tool = assert.fail()] = await listed(router);
    const { properties } = tool.inputSchema as { properties: object };
    assert.deepEqual(properties, {
      pair: {
        type: 'array',
        prefixItems: [{ type: 'number' }, { type: 'string' }],
        minItems: 2,
        maxItems: 2,
      },
      none: { type: 'array', minItems: 0, maxItems: 0 },
    });
  });

  test('say nothing of what may not be, where one of the dialects would take more for it', async () => {
    const router = new Router();
    const flags = Type.Tuple([Type.Literal('+'), Type.Literal('+')], { $id: 'Flags' });
    const params = {
      direct: Type.Not(Type.Array(flags)),
      named: Type.Object({ flags: Type.Optional(flags), other: Type.Not(Type.Ref(flags)) }),
      exact: Type.Not(Type.Number()),
    };
    router.rpc({ name: 'a', params, placement: 'inline' }, () => 1);
    const [tool = assert.fail()] = await listed(router);
    const { properties } = tool.inputSchema as {
      properties: Record<string, { properties?: object }>;
    };
    assert.deepEqual(properties.direct, {});
    assert.deepEqual(
      (properties.named?.properties as Record<string, object> | undefined)?.other,
      {},
    );
    assert.deepEqual(properties.exact, { not: { type: 'number' } });
  });

  test('take no other members, unless the schema says so', async () => {
    const router = new Router();
    const open = Type.Object({ a: Type.Number() }, { additionalProperties: true });
    router.rpc({ name: 'open', params: open }, () => 1);
    router.rpc({ name: 'strict', params: model({ a: Type.Number() }) }, () => 1);
    router.rpc({ name: 'any' }, () => 1);
    router.rpc({ name: 'none', params: {} }, () => 1);
    const schemas = (await listed(router)).map(({ inputSchema }) => inputSchema);
    const a = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
    assert.deepEqual(schemas, [
      { ...a, additionalProperties: true },
      { ...a, additionalProperties: false },
      { type: 'object' },
      { type: 'object', properties: {}, additionalProperties: false },
    ]);
  });

  test('leave out what clients would read otherwise', async () => {
    const router = new Router();
    const params = {
      // Valid without the flag u alone.
      code: Type.String({ pattern: '^\\@a+$', maxLength: 10 }),
      region: Type.String({ 'x-mcp-header': 'Region' }),
    };
    router.rpc({ name: 'a', params, returns: Type.String({ minLength: 3 }) }, () => '👍x');
    const [tool = assert.fail()] = await listed(router);
    const { properties } = tool.inputSchema as { properties: object };
    assert.deepEqual(properties, {
      code: { type: 'string', maxLength: 10 },
      region: { type: 'string' },
    });
    // Three UTF-16 units, two characters.
    assert.deepEqual(tool.outputSchema, { type: 'string', minLength: 2 });
  });
});

describe('pages of tools', () => {
  const router = new Router();
  const count = 2 * pageLength + 1;
  for (let n = 0; n < count; n++) {
    router.rpc({ name: `p${n}`, params: { a: Type.Number(), b: Type.String() } }, () => n);
  }

  test('hold all tools once, in order; a page names the next', async () => {
    const catalogue = await Catalogue.of(tableOf(router), []);
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await catalogue.page(cursor, 'modern');
      assert.ok(page !== undefined);
      const tools = JSON.parse(`[${page.text}]`) as Listed[];
      assert.ok(tools.length <= pageLength);
      names.push(...tools.map(({ name }) => name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(
      names,
      Array.from({ length: count }, (_, n) => `p${n}`),
    );
  });

  test('are made once, whoever asks', async () => {
    const catalogue = await Catalogue.of(tableOf(router), []);
    const [one, other] = [catalogue.page(undefined, 'modern'), catalogue.page(undefined, 'modern')];
    assert.equal(one, other);
    await one;
    assert.equal(catalogue.page(undefined, 'modern'), one);
  });

  test('refuse a cursor that none of them has named', async () => {
    const catalogue = await Catalogue.of(tableOf(router), []);
    for (const cursor of [
      '',
      '0',
      '-500',
      '1',
      '499',
      '500.0',
      '1500',
      '0500',
      '5e2',
      'x',
      '9'.repeat(400),
    ]) {
      assert.equal(catalogue.page(cursor, 'modern'), undefined, cursor);
    }
  });
});

describe('a catalogue', () => {
  test('of few tools is there at once; of thousands it takes many turns of the event loop', async () => {
    const few = new Router();
    for (let n = 0; n < 200; n++) few.rpc({ name: `p${n}` }, () => n);
    assert.ok(Catalogue.of(tableOf(few), []) instanceof Catalogue);
    const router = new Router();
    const count = 5000;
    // All names are marked with a hash.
    for (let n = 0; n < count; n++) router.rpc({ name: `${'x'.repeat(60)}.p${n}` }, () => n);
    let turns = 0;
    let isOver = false;
    const tick = (): void => {
      turns++;
      if (!isOver) setImmediate(tick);
    };
    setImmediate(tick);
    const catalogue = await Catalogue.of(tableOf(router), ['x*']);
    isOver = true;
    assert.equal(catalogue.size, count);
    // They are chosen, named in two passes, and put together: 250 of them a turn.
    assert.ok(turns >= 4 * (count / 250) - 5, `${turns} turns`);
    const last = `${'x'.repeat(60)}.p${count - 1}`;
    assert.equal(catalogue.find(last)?.procedure.name, last);
  });
});
