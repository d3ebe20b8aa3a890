import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import shop from '../../../examples/procedures.ts';
import { openRpcOfRegistry } from '../../../src/core/procedures/document/openrpc.ts';
import { getRegistrySchema, Router } from '../../../src/index.ts';
import everyKind from '../../fixtures/codegen/every-kind.ts';
import { discover, type Method } from './discover.ts';
import { openRpcFaults } from './validator.ts';

async function methodOf(router: Router, name: string): Promise<Method> {
  const { methods } = await discover(router);
  const method = methods.find((one) => one.name === name);
  assert.ok(method, name);
  return method;
}

describe('the OpenRPC document', () => {
  test('is valid for every kind of schema, made of an introspection document too', async () => {
    const params = [{ name: 'a', schema: { type: 'text' } }];
    const wrong = {
      openrpc: '1.4.1',
      info: { title: '', version: '' },
      methods: [{ name: 'a', params }],
    };
    assert.notDeepEqual(openRpcFaults(wrong), []);
    for (const router of [everyKind, shop, new Router()]) {
      assert.deepEqual(openRpcFaults(await discover(router)), []);
      const registry = JSON.parse(JSON.stringify(getRegistrySchema(router))) as never;
      assert.deepEqual(openRpcFaults(JSON.parse(JSON.stringify(openRpcOfRegistry(registry)))), []);
    }
  });

  test('says of a procedure what the introspection document says', async () => {
    const method = await methodOf(everyKind, 'optionals');
    assert.equal(method.paramStructure, 'either');
    assert.deepEqual(
      method.params.map(({ name, required }) => [name, required]),
      [
        ['given', true],
        ['maybe', false],
        ['preset', false],
        ['nested', false],
      ],
    );
    assert.deepEqual(method.params[2]?.schema, { type: 'number', default: 7 });
    assert.equal((await methodOf(everyKind, 'scalars')).description, everyKind.get('scalars')?.doc);
    assert.deepEqual((await methodOf(everyKind, 'shapes.area')).tags, [{ name: 'shapes' }]);
    assert.equal((await methodOf(everyKind, 'open')).tags, undefined);
  });

  test('has declared errors as Error Objects, and with their names and schemas beside', async () => {
    const method = await methodOf(everyKind, 'bank.withdraw');
    assert.deepEqual(method.errors, [
      { code: 1001, message: 'Insufficient funds' },
      { code: 1002, message: 'The account is closed' },
    ]);
    const { INSUFFICIENT_FUNDS: funds, CLOSED: closed } = method['x-errors'] ?? {};
    assert.deepEqual(Object.keys((funds?.data?.properties ?? {}) as object), ['missing']);
    assert.deepEqual(closed, { code: 1002, message: 'The account is closed' });
  });

  test('is by name where the order can not be told', async () => {
    const router = new Router();
    const params = Type.Object({ a: Type.Optional(Type.Number()), b: Type.Number() });
    router.rpc({ name: 'mixed', params }, () => null);
    router.rpc(function bare() {});
    const mixed = await methodOf(router, 'mixed');
    assert.equal(mixed.paramStructure, 'by-name');
    // "required parameters before optional parameters"
    assert.deepEqual(
      mixed.params.map(({ name }) => name),
      ['b', 'a'],
    );
    assert.equal((await methodOf(router, 'bare')).paramStructure, 'by-name');
    assert.deepEqual((await methodOf(router, 'bare'))['x-additional-params'], {});
  });

  test('changes its version when what it says changes, and only then', async () => {
    const make = (doc: string): ReturnType<typeof discover> => {
      const router = new Router();
      router.rpc({ name: 'a', doc }, () => null);
      return discover(router);
    };
    assert.equal((await make('x')).info.version, (await make('x')).info.version);
    assert.notEqual((await make('x')).info.version, (await make('y')).info.version);
  });
});

describe('schemas in components', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  test('hold what has an $id, and what is used more than once', async () => {
    const { components } = await discover(everyKind);
    assert.deepEqual(Object.keys(components?.schemas ?? {}), [
      'Composed',
      'Keyed',
      'List',
      'Member',
      'MixedItem',
      'Move',
      'Number',
      'Part',
      'Picked',
      'Shape',
      'Team',
      'TupleItem',
      'User',
      'tree-node',
    ]);
    assert.deepEqual((await methodOf(everyKind, 'users.get')).result.schema, ref('User'));
    assert.deepEqual((await methodOf(everyKind, 'users.list')).result.schema, {
      type: 'array',
      items: ref('User'),
    });
    assert.deepEqual((await methodOf(everyKind, 'shapes.area')).params[0]?.schema, ref('Shape'));
    assert.deepEqual(components?.schemas['tree-node']?.properties, {
      value: { type: 'number' },
      kids: { type: 'array', items: ref('tree-node') },
    });
  });

  test('do not depend on the order of registration', async () => {
    const Point = Type.Object({ x: Type.Number(), y: Type.Number() });
    const make = async (names: readonly string[]) => {
      const router = new Router();
      for (const name of names) {
        router.rpc(
          { name, params: Type.Object({ [`${name}Point`]: Point }), returns: Point },
          (params) => Object.values(params)[0] as never,
        );
      }
      return (await discover(router)).components;
    };
    assert.deepEqual(await make(['a', 'b', 'c']), await make(['c', 'a', 'b']));
    assert.deepEqual(Object.keys((await make(['b', 'a']))?.schemas ?? {}), ['APoint']);
  });

  test('keep types apart that share an $id', async () => {
    const router = new Router();
    const one = Type.Object({ a: Type.Number() }, { $id: 'Same' });
    const other = Type.Object({ b: Type.Number() }, { $id: 'Same' });
    router.rpc({ name: 'one', returns: one }, () => ({ a: 1 }));
    router.rpc({ name: 'other', returns: other }, () => ({ b: 1 }));
    assert.deepEqual((await methodOf(router, 'one')).result.schema, ref('Same'));
    assert.deepEqual((await methodOf(router, 'other')).result.schema, ref('Same_2'));
  });

  test('tell recursive types apart by what they hold, not by the ids that TypeBox makes up', async () => {
    const router = new Router();
    const tree = (leaf: () => TSchema) =>
      Type.Recursive((This) => Type.Object({ leaf: leaf(), kids: Type.Array(This) }));
    router.rpc({ name: 'a', params: Type.Object({ tree: tree(() => Type.String()) }) }, () => null);
    router.rpc({ name: 'b', params: Type.Object({ tree: tree(() => Type.Number()) }) }, () => null);
    router.rpc(
      { name: 'c', params: Type.Object({ other: tree(() => Type.String()) }) },
      () => null,
    );
    const { methods } = await discover(router);
    const schemas = methods.map(({ params }) => params[0]?.schema);
    assert.deepEqual(schemas, [ref('Tree'), ref('Tree_2'), ref('Tree')]);
  });

  test('leave what one use says of a type beside the reference', async () => {
    const Color = Type.Union([Type.Literal('red'), Type.Literal('green'), Type.Null()], {
      $id: 'Color',
      description: 'A colour.',
    });
    for (const preset of ['red', null]) {
      const router = new Router();
      const params = Type.Object({ fore: { ...Color, default: preset } });
      router.rpc({ name: 'paint', params, returns: Color }, () => null);
      const [fore] = (await methodOf(router, 'paint')).params;
      assert.deepEqual(fore?.schema, { allOf: [ref('Color')], default: preset });
      const { components } = await discover(router);
      assert.ok(!Object.hasOwn(components?.schemas.Color ?? {}, 'default'));
    }
  });

  test('are reached from params that hold themselves', async () => {
    const router = new Router();
    const Link = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }), {
      $id: 'Link',
    });
    router.rpc({ name: 'follow', params: Link as never }, () => null);
    assert.deepEqual((await methodOf(router, 'follow')).params[0]?.schema, ref('Link'));
    assert.deepEqual(openRpcFaults(await discover(router)), []);
  });
});
