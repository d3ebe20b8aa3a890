import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { procedure } from '../../src/index.ts';
import { isRefused } from './run.ts';

/** What a JavaScript caller, whom no types hold back, may pass. */
const untyped = procedure as (options: unknown, handler: unknown) => unknown;

const refuses = (options: unknown, handler: unknown, message: RegExp) =>
  isRefused(() => untyped(options, handler), message);

const noop = (): void => {};

describe('procedure', () => {
  test('is asynchronous when its function is, or when it says so', () => {
    assert.equal(procedure({}, async () => 1).isAsync, true);
    assert.equal(procedure({}, (async () => 1).bind(undefined)).isAsync, true);
    assert.equal(procedure({ async: true }, () => Promise.resolve(1)).isAsync, true);
    assert.equal(procedure({ async: false }, () => 1).isAsync, false);
    assert.equal(procedure({ async: false }, async () => 1).isAsync, true);
  });

  test('refuses what is no function that gives one result', () => {
    refuses(
      { name: 'p' },
      undefined,
      /^procedure "p": the handler must be a function, got undefined/,
    );
    refuses({}, 'x', /the handler must be a function, got "x"/);
    refuses(null, noop, /the options must be an object .* got null/);
    refuses([], noop, /got an array/);
    refuses({}, class Thing {}, /a class can't be called/);
  });

  test('streams when its function is a generator, or when it says so', () => {
    const { stream, isAsync } = procedure({}, function* numbers() {
      yield 1;
    });
    const plain = { notification: undefined, unsubscribe: undefined, collect: false };
    const undeclared = { yields: undefined, value: undefined };
    assert.deepEqual({ ...stream }, { ...plain, drain: 'end', ...undeclared });
    assert.equal(isAsync, false);
    const waits = procedure({ stream: { collect: true, drain: 'finish' } }, async function* () {
      yield 1;
    });
    assert.equal(waits.isAsync, true);
    assert.equal(waits.stream?.collect, true);
    assert.equal(waits.stream?.drain, 'finish');
    assert.equal(procedure({ stream: true }, () => [1]).stream?.collect, false);
    assert.equal(procedure({ yields: Type.Number() }, () => [1]).stream?.yields?.kind, 'number');
    assert.equal(procedure({}, () => [1]).stream, undefined);
  });

  test('refuses options of a stream that can not be', () => {
    const given = { name: 'p' };
    const handler = (): number[] => [];
    const wrong = (stream: unknown) => ({ ...given, stream });
    refuses(wrong(false), handler, /option stream must be true, or an object/);
    refuses(
      wrong({ colect: true }),
      handler,
      /unknown option "stream\.colect"; did you mean collect\? Known: notification, /,
    );
    refuses(wrong({ drain: 'now' }), handler, /option stream\.drain must be 'end' or 'finish'/);
    refuses(wrong({ notification: 'rpc.x' }), handler, /stream\.notification: .* reserved/);
    refuses({ ...given, yields: 1 }, handler, /option yields must be/);
  });

  test('names an unknown option, and the one that was meant', () => {
    refuses(
      { timeoutMS: 5 },
      noop,
      /unknown option "timeoutMS"; did you mean timeoutMs\? Known: name, params/,
    );
    refuses({ colour: 'red' }, noop, /unknown option "colour"\. Known: /);
    refuses(JSON.parse('{"__proto__":1}'), noop, /unknown option "__proto__"/);
    refuses({ toString: 1 }, noop, /unknown option "toString"/);
  });

  test('refuses values of the wrong type', () => {
    refuses({ name: 5 }, noop, /option name must be a string, got 5/);
    refuses({ name: 'a b' }, noop, /" " at position 1/);
    refuses({ name: 'rpc.x' }, noop, /reserved/);
    refuses({ name: '' }, noop, /needs a name/);
    refuses({ doc: {} }, noop, /option doc must be a string/);
    refuses(
      { placement: 'pool' },
      noop,
      /option placement must be 'inline', 'worker' or 'auto', got "pool"/,
    );
    for (const timeoutMs of [
      0,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 31,
      '5',
      null,
    ]) {
      refuses({ timeoutMs }, noop, /option timeoutMs must be a whole number of milliseconds/);
    }
    for (const group of ['', 'a b', 'default', '9', 7, 'x'.repeat(33)]) {
      refuses({ group }, noop, /option group must be the name of a group of workers: 1 to 32 /);
    }
    const both = { group: 'gpu', placement: 'inline' };
    refuses(
      both,
      noop,
      /option group \(gpu\) is for workers, and placement is 'inline': leave one/,
    );
    for (const maxConcurrency of [0, 1.5, '2']) {
      refuses({ maxConcurrency }, noop, /option maxConcurrency must be a whole number/);
    }
    refuses({ async: 'yes' }, noop, /option async must be true or false/);
    refuses({ params: 'x' }, noop, /option params must be a TypeBox object/);
    refuses({ params: Type.String() }, noop, /params must be a TypeBox object/);
    refuses({ returns: {} }, noop, /returns: not a TypeBox schema/);
  });

  test('refuses an affinity that can not work', () => {
    const params = Type.Object({ docId: Type.String(), page: Type.Integer() });
    refuses({ affinity: 1 }, noop, /affinity must be the name of a param, or 'caller', got 1$/);
    refuses({ affinity: '' }, noop, /affinity must be the name of a param, or 'caller', got ""$/);
    refuses(
      { affinity: 'docid', params },
      noop,
      /affinity must be 'caller' or a param \(docId, page\), got "docid"; did you mean docId\?$/,
    );
    refuses(
      { affinity: 'docId', params, batch: { max: 8 } },
      noop,
      /affinity can't stand beside batch, .*: leave one of the two out$/,
    );
    refuses(
      { affinity: 'caller', placement: 'inline' },
      noop,
      /affinity \(caller\) chooses among workers, and placement is 'inline': leave one of the two out$/,
    );
    refuses(
      { affinity: 'docId', params },
      function* stream() {},
      /affinity is not for a stream, which would hold the worker .*: leave affinity out$/,
    );
  });

  test('an option that is undefined is absent', () => {
    assert.equal(
      procedure({ name: undefined, timeoutMs: undefined, doc: undefined }, function f() {}).name,
      'f',
    );
  });
});
