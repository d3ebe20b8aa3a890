import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInThisContext } from 'node:vm';
import { procedure } from '../../src/index.ts';

type AnyHandler = (...args: never) => unknown;

/** Functions as their text has it: a compiler or a formatter must not rewrite them. */
function written(...texts: string[]): readonly (readonly [string, AnyHandler])[] {
  return texts.map((text) => [text, runInThisContext(`(${text})`) as AnyHandler]);
}

/** The method of an object literal. */
function methods(...texts: string[]): readonly (readonly [string, AnyHandler])[] {
  return texts.map((text) => [
    text,
    Object.values(runInThisContext(`({${text}})`) as object)[0] as AnyHandler,
  ]);
}

function isBlind(handler: AnyHandler): boolean {
  return procedure({ name: 'a' }, handler as () => unknown).ignoresContext;
}

describe('a handler ignores its context', () => {
  const blind = [
    ...written('() => 1', 'p => p', 'async p => p', 'async (p) => p', '(p,) => p'),
    ...written('({ a, b }) => a + b', '({ a: x }) => x', 'async () => {}'),
    ...written(
      'function () {}',
      'function add({ a, b }) { return a + b; }',
      'async function f(p) {}',
    ),
    ...written('function* f(p) {}', 'async function* f() {}'),
    ...methods('add({ a, b }) { return a + b; }', 'async add(p) {}', '*add(p) {}', 'get(p) {}'),
    ...methods('async(p) {}', 'function(p) {}'),
  ];
  for (const [text, handler] of blind) {
    it(`where it has no parameter for it: ${text}`, () => {
      assert.equal(isBlind(handler), true);
    });
  }

  const seeing = [
    ...written('(p, c) => c', 'async (p, { signal }) => 1', 'function (p, c) {}'),
    ...methods('add(p, c) {}', 'async *add(p, c) {}'),
  ];
  for (const [text, handler] of seeing) {
    it(`but not where it takes it: ${text}`, () => {
      assert.equal(isBlind(handler), false);
    });
  }

  const unknown = [
    ...written('(p, c = {}) => c', '(p = {}, c) => c', '(...all) => all', '({ ...rest }) => rest'),
    ...written(
      '({ a: { b } }) => b',
      '({ a: { b } }, c) => c',
      '([a]) => a',
      '({ a = 1 }, c) => c',
    ),
    ...written('function () { return arguments[1]; }', 'function (p) { return () => arguments; }'),
    ...written("function (p) { return eval('argu' + 'ments')[1]; }"),
    ...written(String.raw`function (p) { return \u0061rguments[1]; }`),
    ...written(
      '(p /* ) => */, c) => c',
      '({ a } /*) => { */, c) => c',
      'function f /* (p) => */ (p, c) {}',
    ),
    ...methods("['q'](p, c) {}", "'q r'(p, c) {}"),
    ['a bound function', ((p: unknown, c: unknown) => [p, c]).bind(null)] as const,
    ['a proxy', new Proxy((p: unknown, c: unknown) => [p, c], {})] as const,
  ];
  for (const [text, handler] of unknown) {
    it(`nor where its text does not tell: ${text}`, () => {
      assert.equal(isBlind(handler), false);
    });
  }

  it('and a procedure does, unless its authorize is given the context', () => {
    assert.equal(procedure({ name: 'a' }, () => 1).ignoresContext, true);
    assert.equal(procedure({ name: 'a' }, (_params, { id }) => id).ignoresContext, false);
    assert.equal(procedure({ name: 'a', authorize: () => {} }, () => 1).ignoresContext, false);
  });
});
