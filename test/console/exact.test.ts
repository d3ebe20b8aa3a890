/** docs/console.md: what is sent and shown is JSON to the letter. JavaScript would round 9007199254740993. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { compactJson, itemsOf, membersOf, prettyJson } from '../../console/json/raw.ts';
import { repliesIn } from '../../console/json/replies.ts';
import { draftOfText, textOfDraft, Unparsed } from '../../console/schema/draft.ts';
import { Router, RpcError, Type } from '../../src/index.ts';
import { assertQuiet, field, noBrowser, OneBrowser } from './browser.ts';

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

function routerOf(): Router {
  const router = new Router();
  const n = Type.Optional(Type.Integer());
  router.rpc({ name: 'echo', placement: 'inline' }, (given) => given);
  router.rpc({ name: 'take', params: Type.Object({ n }), placement: 'inline' }, () => {
    throw new RpcError(7, 'No', [{ a: 1, b: 'x' }, { a: 2 }]);
  });
  router.rpc(
    { name: 'sum', params: Type.Object({ list: Type.Array(Type.Number()) }), placement: 'inline' },
    ({ list }) => list.reduce((sum, one) => sum + one, 0),
  );
  router.rpc({ name: 'stream', yields: Type.Unknown() }, async function* () {
    yield [1];
    yield { a: 'x' };
    throw new RpcError(9, 'It broke', { at: 3 });
  });
  return router;
}

/** What the page sends next, and what it is answered in place of the server's own reply. */
async function answered(page: Page, reply: string, send: () => Promise<void>): Promise<string> {
  let body = '';
  await page.route('**/rpc', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    body = route.request().postData() ?? '';
    return route.fulfill({ contentType: 'application/json', body: reply });
  });
  await send();
  await page.locator('.answer .reply').first().waitFor();
  await page.unroute('**/rpc');
  return body;
}

describe('numbers that JavaScript would round', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  test('are sent by the form, shown of a call and of a batch, and edited from the history', async (t) => {
    const shown = await browser.show(t, { options: { router: routerOf() }, hash: '#/p/take' });
    const { page } = shown;
    await page.getByRole('button', { name: '+ n' }).click();
    await field(page, 'n').fill(big);
    const call = (): Promise<void> => page.getByRole('button', { name: /^Call/ }).click();
    const failed = `{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"No","data":[{"seen":${big}}]}}`;
    assert.match(await answered(page, failed, call), new RegExp(`"params":\\{"n":${big}\\}`));
    await page.getByRole('cell', { name: big }).waitFor();
    assert.ok((await page.locator('.snippets .json').innerText()).includes(big));
    await page.getByRole('button', { name: 'TypeScript' }).click();
    assert.ok((await page.locator('.snippets .json').innerText()).includes(`{ n: ${big} }`));
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('link', { name: /^Batch/ }).click();
    const replies = `[{"jsonrpc":"2.0","id":1,"result":{"n":${big}}},{"jsonrpc":"2.0","id":2,"result":1.0}]`;
    const send = (): Promise<void> => page.getByRole('button', { name: /^Send/ }).click();
    const body = await answered(page, replies, send);
    assert.equal(body.split(big).length, 3);
    const results = page.getByRole('group', { name: 'Result' });
    assert.match(await results.first().innerText(), new RegExp(`"n": ${big}`));
    assert.equal(await results.last().innerText(), '1.0');
    await page.getByRole('link', { name: /^History/ }).click();
    await page.locator('.history > li').last().locator('summary').first().click();
    await page.getByRole('link', { name: 'Edit take' }).last().click();
    assert.equal(await field(page, 'n').inputValue(), big);
    await page.getByRole('button', { name: 'JSON' }).click();
    const content = page.locator('json-editor .cm-content');
    assert.match(await content.innerText(), new RegExp(`"n": ${big}`));
    await page.getByRole('button', { name: 'Form' }).click();
    assert.equal(await field(page, 'n').inputValue(), big);
    await assertQuiet(shown);
  });

  test('are shown of a stream; one that fails midway keeps its values and says why', async (t) => {
    const shown = await browser.show(t, { options: { router: routerOf() }, hash: '#/p/stream' });
    const { page } = shown;
    await page.getByRole('button', { name: /^Open the stream/ }).click();
    await page.locator('.error strong', { hasText: 'It broke' }).waitFor();
    assert.deepEqual(await page.locator('.values code').allInnerTexts(), ['{"a":"x"}', '[1]']);
    await page.getByRole('row', { name: 'at 3' }).waitFor();
    await page.route('**/rpc', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            contentType: 'text/event-stream',
            body: `data: {"jsonrpc":"2.0","method":"stream","params":{"subscription":1,"result":${big}}}\n\n`,
          })
        : route.continue(),
    );
    await page.getByRole('button', { name: /^Open the stream/ }).click();
    await page.getByRole('alert').filter({ hasText: 'the stream broke off' }).waitFor();
    assert.deepEqual(await page.locator('.values code').allInnerTexts(), [big]);
    await assertQuiet(shown);
  });

  test('leave the other items of a list where they are, when one is removed', async (t) => {
    const { page } = await browser.show(t, { options: { router: routerOf() }, hash: '#/p/sum' });
    for (const value of ['1', '20', big]) {
      await page.getByRole('button', { name: '+ item of list' }).click();
      await page.locator('fieldset input').last().fill(value);
    }
    await page.getByRole('button', { name: 'Remove item 0 of list' }).click();
    const inputs = page.locator('fieldset input');
    assert.equal(await inputs.count(), 2);
    assert.deepEqual(
      [await inputs.first().inputValue(), await inputs.last().inputValue()],
      ['20', big],
    );
    assert.ok((await page.locator('.snippets .json').innerText()).includes(`[20,${big}]`));
  });
});
