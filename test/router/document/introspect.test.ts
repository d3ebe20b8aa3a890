import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Kind, type TObject, Type } from '@sinclair/typebox';
import {
  getProcedureSchema,
  getRegistrySchema,
  model,
  procedure,
  Router,
} from '../../../src/index.ts';

const plain = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

describe('getProcedureSchema', () => {
  test('has every field of docs/protocol.md', () => {
    const User = model({
      id: Type.String({ format: 'uuid' }),
      tags: Type.Optional(Type.Array(Type.String())),
    });
    const router = new Router();
    router.register(
      'users.admin.add',
      procedure(
        {
          params: Type.Object({
            user: User,
            level: Type.Integer({ minimum: 1, default: 1 }),
            note: Type.Optional(Type.String()),
          }),
          returns: Type.Union([Type.Boolean(), Type.Null()]),
          doc: 'Adds a user.',
        },
        async () => true,
      ),
    );
    assert.deepEqual(getProcedureSchema(router.get('users.admin.add')!), {
      name: 'users.admin.add',
      namespace: 'users.admin',
      parameters: [
        {
          name: 'user',
          type: '{ id: string; tags?: string[] }',
          schema_: {
            type: 'object',
            additionalProperties: false,
            required: ['id'],
            properties: {
              id: { type: 'string', format: 'uuid' },
              tags: { type: 'array', items: { type: 'string' } },
            },
          },
          required: true,
        },
        {
          name: 'level',
          type: 'number',
          schema_: { type: 'integer', minimum: 1, default: 1 },
          required: false,
          default: 1,
        },
        { name: 'note', type: 'string', schema_: { type: 'string' }, required: false },
      ],
      return_type: 'boolean | null',
      return_schema: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      doc: 'Adds a user.',
      is_async: true,
    });
  });

  test('of a bare function says that nothing is declared', () => {
    assert.deepEqual(getProcedureSchema(procedure({}, function bare() {})), {
      name: 'bare',
      namespace: null,
      parameters: [],
      return_type: 'unknown',
      return_schema: {},
      doc: null,
      is_async: false,
    });
  });

  test('has the default where it is null or false, and no member where there is none', () => {
    const params = Type.Object({
      a: Type.Null({ default: null }),
      b: Type.Boolean({ default: false }),
      c: Type.Optional(Type.Number()),
    });
    const [a, b, c] = getProcedureSchema(procedure({ params }, () => 1)).parameters;
    assert.deepEqual([a?.default, b?.default], [null, false]);
    assert.ok(!('default' in c!));
  });

  test('is plain JSON', () => {
    const Tree = Type.Recursive((This) => Type.Object({ kids: Type.Array(This) }));
    const schema = getProcedureSchema(
      procedure({ params: Type.Object({ tree: Tree, u: Type.Unknown() }), returns: Tree }, () => ({
        kids: [],
      })),
    );
    assert.deepEqual(plain(schema), schema);
    const symbols = (value: unknown): number =>
      typeof value !== 'object' || value === null
        ? 0
        : Object.getOwnPropertySymbols(value).length +
          Object.values(value).reduce((sum: number, one) => sum + symbols(one), 0);
    assert.equal(symbols(schema), 0);
    assert.ok(Kind in Tree, 'the schema itself keeps its symbols');
  });

  test('a parameter that refers to the whole brings it along', () => {
    const Link = Type.Recursive(
      (This) => Type.Object({ next: Type.Optional(This), v: Type.Number() }),
      { $id: 'Link' },
    );
    // TypeBox's type of a recursive object is no TObject; what it makes is one.
    const params = Link as unknown as TObject;
    const [next, v] = getProcedureSchema(procedure({ params }, () => 1)).parameters;
    const { $ref, $defs } = next!.schema_ as { $ref: string; $defs: { Link: { $id: string } } };
    assert.equal($ref, 'Link');
    assert.equal($defs.Link.$id, 'Link');
    assert.deepEqual(v!.schema_, { type: 'number' });
  });

  test('shows the tightened schema where a member holds objects with defaults', () => {
    const params = Type.Object({
      o: Type.Object({ x: Type.Number({ default: 1 }), y: Type.Number() }),
    });
    const [o] = getProcedureSchema(procedure({ params }, () => 1)).parameters;
    assert.equal(o?.type, '{ x?: number; y: number }');
    assert.deepEqual(o?.schema_.required, ['y']);
  });
});

describe('getRegistrySchema', () => {
  test('is keyed by name, in the order of registration', () => {
    const router = new Router();
    for (const name of ['b', 'a.x', 'constructor', 'toString'])
      router.register(
        name,
        procedure({}, () => 1),
      );
    const schema = getRegistrySchema(router);
    assert.deepEqual(Object.keys(schema), ['b', 'a.x', 'constructor', 'toString']);
    for (const [name, one] of Object.entries(schema)) assert.equal(one.name, name);
    assert.deepEqual(Object.keys(plain(schema)), router.list());
  });

  test('finds nothing that was not registered', () => {
    const schema = getRegistrySchema(new Router());
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      assert.equal(schema[name], undefined);
    }
  });
});
