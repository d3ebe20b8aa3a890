import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import shop from '../../../examples/procedures.ts';
import {
  type OpenRpcDocument,
  openRpcOf,
  openRpcOfRegistry,
} from '../../../src/core/procedures/document/openrpc.ts';
import { tableOf } from '../../../src/core/procedures/router.ts';
import { getRegistrySchema, Router } from '../../../src/index.ts';
import everyKind from '../../fixtures/codegen/every-kind.ts';
import { openRpcFaults } from './validator.ts';

function documentOf(router: Router): OpenRpcDocument {
  // As it is sent: what JSON drops is not part of it.
  return JSON.parse(JSON.stringify(openRpcOf(tableOf(router)))) as OpenRpcDocument;
}

function methodOf(router: Router, name: string) {
  const method = documentOf(router).methods.find((one) => one.name === name);
  assert.ok(method, name);
  return method;
}

describe('the validator', () => {
  test('refuses what is no OpenRPC document', () => {
    assert.deepEqual(openRpcFaults(documentOf(new Router())), []);
    assert.notDeepEqual(openRpcFaults({ openrpc: '1.4.1', methods: [] }), []);
    const wrong = {
      openrpc: '1.4.1',
      info: { title: 'x', version: '1' },
      methods: [{ name: 'a' }],
    };
    assert.notDeepEqual(openRpcFaults(wrong), []);
    const params = [{ name: 'a', schema: { type: 'text' } }];
    assert.notDeepEqual(openRpcFaults({ ...wrong, methods: [{ name: 'a', params }] }), []);
  });
});

describe('the OpenRPC document', () => {
  test('is valid for every kind of schema, from a router and from an introspection document', () => {
    for (const router of [everyKind, shop, new Router()]) {
      assert.deepEqual(openRpcFaults(documentOf(router)), []);
      const registry = JSON.parse(JSON.stringify(getRegistrySchema(router))) as never;
      assert.deepEqual(openRpcFaults(JSON.parse(JSON.stringify(openRpcOfRegistry(registry)))), []);
    }
  });

  test('lists the procedures in the order of their registration', () => {
    assert.deepEqual(
      documentOf(everyKind).methods.map(({ name }) => name),
      everyKind.list(),
    );
  });

  test('says of a procedure what the introspection document says', () => {
    const method = methodOf(everyKind, 'optionals');
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
    assert.equal(methodOf(everyKind, 'scalars').description, everyKind.get('scalars')?.doc);
    assert.deepEqual(methodOf(everyKind, 'shapes.area').tags, [{ name: 'shapes' }]);
    assert.equal(methodOf(everyKind, 'open').tags, undefined);
  });

  test('has declared errors as Error Objects, and with their names and schemas beside', () => {
    const method = methodOf(everyKind, 'bank.withdraw');
    assert.deepEqual(method.errors, [
      { code: 1001, message: 'Insufficient funds' },
      { code: 1002, message: 'The account is closed' },
    ]);
    const { INSUFFICIENT_FUNDS: funds, CLOSED: closed } = method['x-errors'] ?? {};
    assert.deepEqual(Object.keys((funds?.data?.properties ?? {}) as object), ['missing']);
    assert.deepEqual(closed, { code: 1002, message: 'The account is closed' });
  });

  test('is by name where the order can not be told', () => {
    const router = new Router();
    const params = Type.Object({ a: Type.Optional(Type.Number()), b: Type.Number() });
    router.rpc({ name: 'mixed', params }, () => null);
    router.rpc(function bare() {});
    const mixed = methodOf(router, 'mixed');
    assert.equal(mixed.paramStructure, 'by-name');
    // "required parameters before optional parameters"
    assert.deepEqual(
      mixed.params.map(({ name }) => name),
      ['b', 'a'],
    );
    assert.equal(methodOf(router, 'bare').paramStructure, 'by-name');
    assert.deepEqual(methodOf(router, 'bare')['x-additional-params'], {});
  });

  test('changes its version when what it says changes, and only then', () => {
    const make = (doc: string): OpenRpcDocument => {
      const router = new Router();
      router.rpc({ name: 'a', doc }, () => null);
      return documentOf(router);
    };
    assert.equal(make('x').info.version, make('x').info.version);
    assert.notEqual(make('x').info.version, make('y').info.version);
  });
});

describe('schemas in components', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  test('hold what has an $id, and what is used more than once', () => {
    const { components } = documentOf(everyKind);
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
    assert.deepEqual(methodOf(everyKind, 'users.get').result.schema, ref('User'));
    assert.deepEqual(methodOf(everyKind, 'users.list').result.schema, {
      type: 'array',
      items: ref('User'),
    });
    assert.deepEqual(methodOf(everyKind, 'shapes.area').params[0]?.schema, ref('Shape'));
    assert.deepEqual(components?.schemas['tree-node']?.properties, {
      value: { type: 'number' },
      kids: { type: 'array', items: ref('tree-node') },
    });
  });

  test('do not depend on the order of registration', () => {
    const Point = Type.Object({ x: Type.Number(), y: Type.Number() });
    const make = (names: readonly string[]) => {
      const router = new Router();
      for (const name of names) {
        router.rpc(
          { name, params: Type.Object({ [`${name}Point`]: Point }), returns: Point },
          (params) => Object.values(params)[0] as never,
        );
      }
      return documentOf(router).components;
    };
    assert.deepEqual(make(['a', 'b', 'c']), make(['c', 'a', 'b']));
    assert.deepEqual(Object.keys(make(['b', 'a'])?.schemas ?? {}), ['APoint']);
  });

  test('keep types apart that share an $id', () => {
    const router = new Router();
    const one = Type.Object({ a: Type.Number() }, { $id: 'Same' });
    const other = Type.Object({ b: Type.Number() }, { $id: 'Same' });
    router.rpc({ name: 'one', returns: one }, () => ({ a: 1 }));
    router.rpc({ name: 'other', returns: other }, () => ({ b: 1 }));
    assert.deepEqual(methodOf(router, 'one').result.schema, ref('Same'));
    assert.deepEqual(methodOf(router, 'other').result.schema, ref('Same_2'));
  });

  test('tell recursive types apart by what they hold, not by the ids that TypeBox makes up', () => {
    const router = new Router();
    const tree = (leaf: () => TSchema) =>
      Type.Recursive((This) => Type.Object({ leaf: leaf(), kids: Type.Array(This) }));
    router.rpc({ name: 'a', params: Type.Object({ tree: tree(() => Type.String()) }) }, () => null);
    router.rpc({ name: 'b', params: Type.Object({ tree: tree(() => Type.Number()) }) }, () => null);
    router.rpc(
      { name: 'c', params: Type.Object({ other: tree(() => Type.String()) }) },
      () => null,
    );
    const schemas = ['a', 'b', 'c'].map((name) => methodOf(router, name).params[0]?.schema);
    assert.deepEqual(schemas, [ref('Tree'), ref('Tree_2'), ref('Tree')]);
  });

  test('leave what one use says of a type beside the reference', () => {
    const router = new Router();
    const Color = Type.Union(
      ['red', 'green', 'blue'].map((name) => Type.Literal(name)),
      { $id: 'Color', description: 'A colour.' },
    );
    const params = Type.Object({
      back: Type.Object({}),
      fore: { ...Color, default: 'red' },
    });
    router.rpc({ name: 'paint', params, returns: Color }, () => 'red');
    assert.deepEqual(methodOf(router, 'paint').params[1]?.schema, {
      allOf: [ref('Color')],
      default: 'red',
    });
    assert.equal(documentOf(router).components?.schemas.Color?.default, undefined);
  });

  test('leave a default of null beside the reference', () => {
    const router = new Router();
    const Color = Type.Union([Type.Literal('red'), Type.Literal('green'), Type.Null()], {
      $id: 'Color',
    });
    const params = Type.Object({ fore: { ...Color, default: null } });
    router.rpc({ name: 'paint', params, returns: Color }, () => null);
    assert.deepEqual(methodOf(router, 'paint').params[0]?.schema, {
      allOf: [ref('Color')],
      default: null,
    });
  });

  test('are reached from params that hold themselves', () => {
    const router = new Router();
    const Link = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }), {
      $id: 'Link',
    });
    router.rpc({ name: 'follow', params: Link as never }, () => null);
    assert.deepEqual(methodOf(router, 'follow').params[0]?.schema, ref('Link'));
    assert.deepEqual(openRpcFaults(documentOf(router)), []);
  });
});
