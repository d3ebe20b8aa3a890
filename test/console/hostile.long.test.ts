/** The console with procedures, tokens and moments that nobody wished for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Router } from '../../src/index.ts';
import { assertQuiet, noBrowser, OneBrowser, violations } from './browser.ts';

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
});
