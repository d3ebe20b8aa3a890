/** docs/console.md: what is sent and shown is JSON to the letter. JavaScript would round 9007199254740993. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compactJson, itemsOf, membersOf, prettyJson } from '../../console/json/raw.ts';
import { faultsIn, repliesIn } from '../../console/json/replies.ts';

const big = '9007199254740993';

describe('JSON in the console', () => {
  const awkward = `{ "a\\"}" : [ 1.0 , ${big} ,"\\\\", {} ,[ ] ] ,\n"" : {"x":-1e400,"y":null}, "__proto__":true }`;

  test('is taken apart to the letter, whatever its strings hold', () => {
    const members = membersOf(awkward) ?? assert.fail();
    assert.deepEqual(
      [...members],
      [
        ['a"}', `[ 1.0 , ${big} ,"\\\\", {} ,[ ] ]`],
        ['', '{"x":-1e400,"y":null}'],
        ['__proto__', 'true'],
      ],
    );
    assert.deepEqual(itemsOf(members.get('a"}') ?? ''), ['1.0', big, '"\\\\"', '{}', '[ ]']);
    assert.deepEqual([itemsOf('[]'), itemsOf(' [ ] '), membersOf('{}')?.size], [[], [], 0]);
    assert.deepEqual(
      [itemsOf('{}'), membersOf('[]'), membersOf(''), itemsOf('7')],
      Array(4).fill(undefined),
    );
  });

  test('is laid out, and made compact again, without a change', () => {
    const compact = `{"a\\"}":[1.0,${big},"\\\\",{},[]],"":{"x":-1e400,"y":null},"__proto__":true}`;
    assert.equal(compactJson(awkward), compact);
    assert.equal(compactJson(prettyJson(compact)), compact);
    const plain = { a: [1, { b: [] }], c: {}, d: 'x: {y}', e: [[]] };
    assert.equal(prettyJson(JSON.stringify(plain)), JSON.stringify(plain, undefined, 2));
    // A text of megabytes in one string.
    const long = JSON.stringify({ text: 'x"\\'.repeat(1_000_000) });
    assert.equal(compactJson(prettyJson(long)), long);
  });

  test('of replies is read without a loss', () => {
    const error = `{"code":1,"message":"é\\n","data":[{"n":${big}}]}`;
    const replies = repliesIn(
      `[{"jsonrpc":"2.0","id":${big},"result":1.0},{"id":2,"error":${error}}]`,
    );
    assert.deepEqual(replies, [
      { id: big, result: '1.0', error: undefined },
      { id: '2', result: 'null', error: { code: 1, message: 'é\n', data: `[{"n":${big}}]` } },
    ]);
    assert.deepEqual(
      [repliesIn('<html>'), repliesIn('7'), repliesIn('')],
      Array(3).fill(undefined),
    );
  });

  test('of a refusal is read as faults, by the paths of the params', () => {
    const reply = (code: number, data: string): string =>
      `{"id":1,"error":{"code":${code},"message":"m","data":${data}}}`;
    const fault = { path: '/n', message: 'is required' };
    const item = JSON.stringify({ ...fault, expected: 'number', received: 'undefined' });
    assert.deepEqual(faultsIn(reply(-32602, `[${item}]`)), [fault]);
    const others = [
      reply(-32601, `[${item}]`),
      reply(-32602, item),
      reply(-32602, '[null,7,{"path":1}]'),
      '{"id":1,"result":1}',
      '',
    ];
    assert.deepEqual(others.flatMap(faultsIn), []);
  });
});
