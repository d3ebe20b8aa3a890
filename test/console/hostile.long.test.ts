/** The console with procedures, tokens and moments that nobody wished for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Router, RpcError, Type } from '../../src/index.ts';
import {
  assertQuiet,
  editor,
  noBrowser,
  OneBrowser,
  violations,
  write,
  written,
} from './browser.ts';

const press = (page: Page): Promise<void> => page.getByRole('button', { name: /^Call/ }).click();

async function result(page: Page): Promise<unknown> {
  const shown = page.getByRole('group', { name: 'Result' });
  await shown.waitFor();
  return JSON.parse(await shown.innerText());
}

describe('the console, treated badly', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  test('finds, shows and calls procedures of odd names, whatever their descriptions hold', async (t) => {
    const router = new Router();
    const names = [
      'a/b:c-d',
      'constructor',
      'x.toString',
      '_hidden.-._',
      `long.${'n'.repeat(100)}`,
    ];
    const doc = '<img src=x onerror=alert(1)>\n**bold**';
    for (const name of names) router.rpc({ name, doc, placement: 'inline' }, () => name);
    const shown = await browser.show(t, { options: { router } });
    const { page, url } = shown;
    for (const name of names) {
      await page.goto(`${url}#/p/${encodeURIComponent(name)}`);
      await page.getByRole('heading', { name, exact: true }).waitFor();
      await press(page);
      assert.equal(await result(page), name);
      await page.getByText('<img src=x onerror=alert(1)>').waitFor();
      assert.equal(await page.locator('main img').count(), 0);
    }
    assert.deepEqual(await violations(page), []);
    await assertQuiet(shown);
  });

  test('completes from schemas that hold themselves, offer thousands of choices, or none', async (t) => {
    const router = new Router();
    const Node = Type.Recursive((This) =>
      Type.Object({ value: Type.Integer(), children: Type.Array(This) }),
    );
    const Endless = Type.Recursive((This) => Type.Object({ next: This }));
    const inline = { placement: 'inline' } as const;
    router.rpc(
      { name: 'tree', params: Type.Object({ root: Node }), ...inline },
      ({ root }) => root,
    );
    router.rpc({ name: 'endless', params: Type.Object({ chain: Endless }), ...inline }, () => 1);
    const choices = Array.from({ length: 5000 }, (_, i) => Type.Literal(`choice ${i}`));
    router.rpc(
      { name: 'many', params: Type.Object({ one: Type.Union(choices) }), ...inline },
      ({ one }) => one,
    );
    router.rpc({ name: 'none', params: Type.Object({}), ...inline }, () => 'none');
    router.rpc({ name: 'any', ...inline }, (given) => given);
    const shown = await browser.show(t, { options: { router }, hash: '#/p/tree' });
    const { page, url } = shown;
    const go = async (name: string): Promise<void> => {
      await page.goto(`${url}#/p/${name}`);
      await page.getByRole('heading', { name, exact: true }).waitFor();
    };
    const type = async (text: string): Promise<void> => {
      await editor(page).press('Control+a');
      await page.keyboard.insertText(text.slice(0, -1));
      await page.keyboard.type(text.slice(-1));
    };
    await press(page);
    const example = JSON.parse(await written(page)) as { readonly root: unknown };
    assert.deepEqual(await result(page), example.root);
    await type('{"root": {"value": 1, "children": [{"c');
    await page.getByRole('option', { name: '"children"' }).waitFor();
    await page.keyboard.press('Escape');
    await go('endless');
    await press(page);
    await editor(page).locator('.fault').waitFor();
    assert.deepEqual(await violations(page), []);
    await go('many');
    await type('{"one": "ch');
    const options = page.getByRole('option');
    await options.first().waitFor();
    assert.equal(await options.count(), 12);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('}');
    await press(page);
    assert.equal(await result(page), 'choice 1');
    await go('none');
    await press(page);
    assert.equal(await result(page), 'none');
    await go('any');
    // By position.
    await editor(page).fill('[1, {"a": 2}]');
    await press(page);
    await page.locator('.answer').waitFor();
    await assertQuiet(shown);
  });

  test('says what is wrong with a token or a header, and takes a right one', async (t) => {
    const { page, url } = await browser.show(t, {
      options: {
        authenticate: ({ headers }) => {
          if (headers.authorization !== 'Bearer right') {
            throw new RpcError(4010, `not ${headers.authorization ?? 'nothing'}`);
          }
        },
      },
    });
    const value = page.getByLabel('Value of authorization');
    const tryIt = (): Promise<void> => page.getByRole('button', { name: 'Try again' }).click();
    // By the keyboard: what was typed goes with each request, and the page, which asks by itself too, may have been let in by now.
    const tryWhatIsRight = (): Promise<void> => page.keyboard.press('Enter');
    await page.getByText('not nothing').waitFor();
    await value.fill('Bearer wrong');
    await tryIt();
    await page.getByText('not Bearer wrong').waitFor();
    // No header can carry it.
    await value.fill('Bearer ☃');
    await tryIt();
    await page
      .getByRole('alert')
      .filter({ hasText: /header/i })
      .waitFor();
    assert.deepEqual(await violations(page), []);
    await value.fill('Bearer right');
    await tryWhatIsRight();
    await page.getByRole('link', { name: 'find', exact: true }).waitFor();
    // It is taken back while the page is open.
    await page.goto(`${url}#/p/orders.pay`);
    await page.getByRole('heading', { name: 'orders.pay' }).waitFor();
    await write(page, { order: 'kept' });
    await page.getByRole('button', { name: /^Headers/ }).click();
    await value.fill('Bearer gone');
    await page.getByRole('button', { name: 'Use them' }).click();
    await page.getByText('not Bearer gone').waitFor();
    await value.last().fill('Bearer right');
    await tryWhatIsRight();
    assert.deepEqual(JSON.parse(await written(page)), { order: 'kept' });
  });

  test('keeps its list while the service is too full to describe itself', async (t) => {
    const { page } = await browser.show(t, {});
    await page.getByRole('link', { name: 'find', exact: true }).waitFor();
    await page.route('**/rpc', (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: '{"error":{}}' }),
    );
    const asked = page.waitForResponse((response) => response.status() === 503);
    await page.getByRole('button', { name: /^Headers/ }).click();
    await page.getByRole('button', { name: 'Use them' }).click();
    await asked;
    await page.getByRole('link', { name: 'find', exact: true }).click();
    await page.getByRole('heading', { name: 'catalog.find' }).waitFor();
  });
});
