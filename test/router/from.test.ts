import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from '@sinclair/typebox';
import { procedure, Router } from '../../src/index.ts';

const one = procedure({ name: 'own', doc: 'One.' }, () => 1);
const add = procedure(
  { params: Type.Object({ a: Type.Number(), b: Type.Number() }), returns: Type.Number() },
  ({ a, b }) => a + b,
);
const from = (tree: unknown): Router => Router.from(tree as Parameters<typeof Router.from>[0]);

describe('Router.from', () => {
  it('names procedures by their paths, in the order of the object', () => {
    const router = Router.from({ one, math: { add, more: { one } }, 'flat.name': one });
    assert.ok(router instanceof Router && Router.is(router));
    assert.deepEqual(router.list(), ['one', 'math.add', 'math.more.one', 'flat.name']);
    assert.equal(router.get('math.more.one')?.name, 'math.more.one');
    assert.equal(router.get('math.more.one')?.doc, 'One.');
  });

  it('takes the procedures that routers among them have now', () => {
    const math = new Router();
    math.rpc(function sum() {});
    const router = Router.from({ v1: { math }, math: Router.from({ add }) });
    assert.deepEqual(router.list(), ['v1.math.sum', 'math.add']);
    math.rpc(function later() {});
    assert.equal(router.size, 2, 'a snapshot');
  });

  it('takes a module', async () => {
    const module = (await import('../fixtures/client/tree.ts')) as Parameters<
      typeof Router.from
    >[0];
    assert.deepEqual(from({ tree: module }).list(), ['tree.first', 'tree.nested.second']);
  });

  it('takes nothing', () => {
    assert.deepEqual(Router.from({}).list(), []);
    assert.deepEqual(Router.from({ a: {} }).list(), []);
  });

  const wrong: Record<string, [unknown, RegExp]> = {
    'a function': [
      { a: { b: () => 1 } },
      /"a\.b" must be a procedure.*procedure\(\{ \.\.\. \}, handler\)/,
    ],
    'a class instance': [{ a: new Map([['b', add]]) }, /"a" must be a procedure/],
    'an array': [{ a: [add] }, /"a" must be a procedure/],
    null: [null, /the argument must be/],
    'a router by itself': [Router.from({ add }), /must be an object of procedures and routers/],
    'a procedure by itself': [add, /must be an object of procedures and routers/],
    'a value': [{ a: 1 }, /"a" must be a procedure, a Router or an object of them/],
    'undefined, an import that failed': [{ a: undefined }, /"a" must be a procedure/],
    'a name that is none': [{ 'a b': add }, /the name "a b" holds " "/],
    'a reserved name': [{ rpc: { x: add } }, /reserved/],
    'a dangerous name': [JSON.parse('{ "__proto__": {} }'), /__proto__/],
    'an empty name': [{ '': add }, /needs a name/],
  };
  for (const [name, [tree, message]] of Object.entries(wrong)) {
    it(`refuses ${name}`, () => {
      assert.throws(() => from(tree), { name: 'RegistrationError', message });
    });
  }

  it('refuses one name from two paths', () => {
    assert.throws(() => from({ a: { b: add }, 'a.b': add }), { name: 'DuplicateProcedureError' });
  });

  it('refuses an object that holds itself', () => {
    const tree: Record<string, unknown> = { add };
    tree.self = tree;
    assert.throws(() => from(tree), { name: 'RegistrationError', message: /at most 256/ });
  });
});
