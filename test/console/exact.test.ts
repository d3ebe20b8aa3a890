/** docs/console.md: what is sent and shown is JSON to the letter. JavaScript would round 9007199254740993. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compactJson, itemsOf, membersOf, prettyJson } from '../../console/json/raw.ts';
import { repliesIn } from '../../console/json/replies.ts';
import { draftOfText, textOfDraft, Unparsed } from '../../console/schema/draft.ts';

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

  test('goes into a form and comes back as it was', () => {
    const text = `{"n":${big},"list":[1,1.50],"deep":{"s":"x","t":true,"__proto__":1}}`;
    const draft = draftOfText(text) as { readonly n: unknown };
    assert.ok(draft.n instanceof Unparsed);
    assert.equal(textOfDraft(draft), text);
    assert.equal(textOfDraft({ a: undefined, b: [undefined, 1] }), '{"b":[null,1]}');
    assert.throws(() => textOfDraft({ a: new Unparsed('{') }), SyntaxError);
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
});
