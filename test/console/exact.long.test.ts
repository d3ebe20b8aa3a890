/** docs/console.md: what is sent and shown is JSON to the letter, in the page. exact.test.ts has the readers of the texts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Router, RpcError, Type } from '../../src/index.ts';
import { assertQuiet, editor, noBrowser, OneBrowser, written } from './browser.ts';

const big = '9007199254740993';

function routerOf(): Router {
  const router = new Router();
  const n = Type.Optional(Type.Integer());
  router.rpc({ name: 'echo', placement: 'inline' }, (given) => given);
  router.rpc({ name: 'take', params: Type.Object({ n }), placement: 'inline' }, () => {
    throw new RpcError(7, 'No', [{ a: 1, b: 'x' }, { a: 2 }]);
  });
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

  test('are sent by the editor, shown of a call and of a batch, and edited from the history', async (t) => {
    const shown = await browser.show(t, { options: { router: routerOf() }, hash: '#/p/take' });
    const { page } = shown;
    await editor(page).fill(`{"n":${big}}`);
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
    assert.equal(await written(page), `{\n  "n": ${big}\n}`);
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
});
