/** docs/mcp.md, "What a model sees": names, schemas, pages. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { model, Router, Type } from '../../src/index.ts';
import { replied, Stage } from './stage.ts';

function serving(t: TestContext, router: Router, mcpTools: readonly string[] = []) {
  return Stage.start(t, { router, mcpTools: [...mcpTools] });
}

async function listed(t: TestContext, router: Router, mcpTools: readonly string[] = []) {
  const stage = await serving(t, router, mcpTools);
  return (await stage.pages()).flat();
}

/** The names of the tools that procedures become. */
async function toolNames(t: TestContext, procedures: readonly string[]): Promise<string[]> {
  const router = new Router();
  for (const name of procedures) router.rpc({ name }, () => 1);
  return (await listed(t, router)).map(({ name }) => name);
}

describe('names of tools', () => {
  test('have the characters that every host takes', async (t) => {
    assert.deepEqual(await toolNames(t, ['add', 'math.add', 'a/b:c-d', 'x_1']), [
      'add',
      'math_add',
      'a_b_c-d',
      'x_1',
    ]);
  });

  test('are told apart by a mark if they would be the same, whatever the order', async (t) => {
    const [one, other, exact] = await toolNames(t, ['a.b', 'a/b', 'a_b']);
    assert.match(one ?? '', /^a_b_[\da-f]{8}$/);
    assert.match(other ?? '', /^a_b_[\da-f]{8}$/);
    assert.notEqual(one, other);
    assert.equal(exact, 'a_b');
    assert.deepEqual(await toolNames(t, ['a_b', 'a/b', 'a.b']), ['a_b', other, one]);
    // A procedure may be called what the mark of another one would make.
    const clash = await toolNames(t, ['a.b', 'a/b', one ?? '']);
    assert.equal(clash[2], one);
    assert.equal(new Set(clash).size, 3);
  });

  test('are 64 characters at most', async (t) => {
    const long = `${'x'.repeat(70)}.a`;
    const [name] = await toolNames(t, [long]);
    assert.match(name ?? '', /^x{55}_[\da-f]{8}$/);
    assert.deepEqual(await toolNames(t, ['y', long]), ['y', name]);
    assert.deepEqual(await toolNames(t, ['z'.repeat(64)]), ['z'.repeat(64)]);
  });
});

describe('tools', () => {
  test('are those that the patterns name, without those that are kept from models', async (t) => {
    const router = new Router();
    for (const name of ['math.add', 'math.sub', 'user.get', 'other']) router.rpc({ name }, () => 1);
    router.rpc({ name: 'math.secret', tool: false }, () => 1);
    const names = async (...patterns: string[]): Promise<string[]> =>
      (await listed(t, router, patterns)).map(({ title }) => title);
    assert.deepEqual(await names(), ['math.add', 'math.sub', 'user.get', 'other']);
    assert.deepEqual(await names('math.*', 'other'), ['math.add', 'math.sub', 'other']);
    assert.deepEqual(await names('*.get'), ['user.get']);
    assert.deepEqual(await names('math'), []);
    const stage = await serving(t, router, ['math.*', 'meth.*']);
    const warnings = stage.lines.filter(({ fields }) => fields.event === 'mcp-tools');
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['mcpTools: no procedure is called meth.*'],
    );
    const { error } = replied(await stage.ask('tools/call', { name: 'math.secret' }));
    assert.match(error?.message ?? '', /^Unknown tool: math\.secret/);
  });

  test('with params whose names hosts refuse are named by a line at the start', async (t) => {
    const router = new Router();
    const params = Type.Object({
      $top: Type.Optional(Type.Number()),
      'page size': Type.Optional(Type.Number()),
      straße: Type.Optional(Type.String()),
      ['x'.repeat(65)]: Type.Optional(Type.String()),
      'a.b-C_9': Type.Optional(Type.String()),
    });
    router.rpc({ name: 'list.all', params }, () => 1);
    router.rpc({ name: 'hidden', params, tool: false }, () => 1);
    const stage = await serving(t, router);
    const warnings = stage.lines.filter(({ fields }) => fields.event === 'mcp-tools');
    assert.deepEqual(
      warnings.map(({ message }) =>
        /^tool (\S+): hosts refuse the param "(.*?)"/.exec(message)?.slice(1),
      ),
      ['$top', 'page size', 'straße', 'x'.repeat(65)].map((key) => ['list_all', key]),
    );
  });

  test('say of their effects what is declared, and nothing else', async (t) => {
    const router = new Router();
    router.rpc({ name: 'a', effects: { destructive: true, idempotent: false } }, () => 1);
    router.rpc({ name: 'b' }, () => 1);
    const [a, b] = await listed(t, router);
    assert.deepEqual(a?.annotations, { destructiveHint: true, idempotentHint: false });
    assert.equal('annotations' in (b ?? {}), false);
  });

  test('have schemas in one piece: definitions in place of ids', async (t) => {
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
    const [tool = assert.fail()] = await listed(t, router);
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

  test('have tuples that both dialects read', async (t) => {
    const router = new Router();
    const pair = Type.Tuple([Type.Number(), Type.String()]);
    router.rpc({ name: 'a', params: { pair, none: Type.Tuple([]) } }, () => 1);
    const [tool = assert.fail()] = await listed(t, router);
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

  test('say nothing of what may not be, where one of the dialects would take more for it', async (t) => {
    const router = new Router();
    const flags = Type.Tuple([Type.Literal('+'), Type.Literal('+')], { $id: 'Flags' });
    const params = {
      direct: Type.Not(Type.Array(flags)),
      named: Type.Object({ flags: Type.Optional(flags), other: Type.Not(Type.Ref(flags)) }),
      exact: Type.Not(Type.Number()),
    };
    router.rpc({ name: 'a', params, placement: 'inline' }, () => 1);
    const [tool = assert.fail()] = await listed(t, router);
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

  test('take no other members, unless the schema says so', async (t) => {
    const router = new Router();
    const open = Type.Object({ a: Type.Number() }, { additionalProperties: true });
    router.rpc({ name: 'open', params: open }, () => 1);
    router.rpc({ name: 'strict', params: model({ a: Type.Number() }) }, () => 1);
    router.rpc({ name: 'any' }, () => 1);
    router.rpc({ name: 'none', params: {} }, () => 1);
    const schemas = (await listed(t, router)).map(({ inputSchema }) => inputSchema);
    const a = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
    assert.deepEqual(schemas, [
      { ...a, additionalProperties: true },
      { ...a, additionalProperties: false },
      { type: 'object' },
      { type: 'object', properties: {}, additionalProperties: false },
    ]);
  });

  test('leave out what clients would read otherwise', async (t) => {
    const router = new Router();
    const params = {
      region: Type.String({ 'x-mcp-header': 'Region' }),
    };
    router.rpc({ name: 'a', params, returns: Type.Null() }, () => null);
    const [tool = assert.fail()] = await listed(t, router);
    const { properties } = tool.inputSchema as { properties: object };
    assert.deepEqual(properties, {
      region: { type: 'string' },
    });
  });
});

/** docs/mcp.md: tools of one page. */
const pageLength = 500;

describe('pages of tools', () => {
  const router = new Router();
  const count = 2 * pageLength + 1;
  for (let n = 0; n < count; n++) {
    router.rpc({ name: `p${n}`, params: { a: Type.Number(), b: Type.String() } }, () => n);
  }

  test('hold all tools once, in order; a page names the next', async (t) => {
    const stage = await serving(t, router);
    const pages = await stage.pages();
    assert.ok(pages.every(({ length }) => length > 0 && length <= pageLength));
    assert.deepEqual(
      pages.flat().map(({ name }) => name),
      Array.from({ length: count }, (_, n) => `p${n}`),
    );
  });

  test('refuse a cursor that none of them has named', async (t) => {
    const stage = await serving(t, router);
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
      const { error } = replied(await stage.ask('tools/list', { cursor }));
      assert.equal(error?.code, -32602, cursor);
    }
  });
});
