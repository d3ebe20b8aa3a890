/** The console with procedures, tokens and moments that nobody wished for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Router, RpcError, Type } from '../../src/index.ts';
import { assertQuiet, field, noBrowser, OneBrowser, violations } from './browser.ts';

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

  test('makes forms of schemas that hold themselves, offer thousands of choices, or none', async (t) => {
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
    router.rpc(
      {
        name: 'forms',
        params: Type.Object({
          form: Type.Union([
            Type.Object({ kind: Type.Literal('a'), n: Type.Integer() }),
            Type.Object({ kind: Type.Literal('b'), list: Type.Array(Type.String()) }),
            Type.Null(),
            Type.Tuple([Type.Integer(), Type.Boolean()]),
          ]),
        }),
        ...inline,
      },
      ({ form }) => form,
    );
    const shown = await browser.show(t, { options: { router }, hash: '#/p/tree' });
    const { page, url } = shown;
    const go = async (name: string): Promise<void> => {
      await page.goto(`${url}#/p/${name}`);
      await page.getByRole('heading', { name, exact: true }).waitFor();
    };
    await field(page, 'value').fill('1');
    await page.getByRole('button', { name: '+ item of children' }).click();
    await field(page, 'value').last().fill('2');
    await press(page);
    const leaf = { value: 2, children: [] };
    assert.deepEqual(await result(page), { value: 1, children: [leaf] });
    await go('endless');
    assert.ok((await page.locator('textarea.code').count()) === 1);
    assert.deepEqual(await violations(page), []);
    await go('many');
    await field(page, 'one').selectOption('choice 4321');
    await press(page);
    assert.equal(await result(page), 'choice 4321');
    await go('none');
    await press(page);
    assert.equal(await result(page), 'none');
    await go('any');
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.locator('json-editor .cm-content').click();
    // By position.
    await page.keyboard.insertText('[1, {"a": 2}]');
    await press(page);
    await page.locator('.answer').waitFor();
    await go('forms');
    for (const [form, fill, expected] of [
      ['kind: "a"', async () => field(page, 'n').fill('7'), { kind: 'a', n: 7 }],
      ['null', async () => {}, null],
      ['array', async () => page.locator('fieldset input').first().fill('3'), [3, false]],
    ] as const) {
      await page.getByLabel('Form of form').selectOption({ label: form });
      await fill();
      await press(page);
      await page.locator('.answer[data-state=done]').waitFor();
      assert.deepEqual(await result(page), expected);
    }
    await assertQuiet(shown);
  });

  test('stops a call that never ends, and goes on', async (t) => {
    const router = new Router();
    let aborted = (): void => {};
    const hasAborted = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    router.rpc({ name: 'never', placement: 'inline', async: true }, (_params, { signal }) => {
      signal.addEventListener('abort', aborted);
      return new Promise(() => {});
    });
    const shown = await browser.show(t, {
      options: { router, shutdownGraceMs: 100 },
      hash: '#/p/never',
    });
    const { page } = shown;
    await press(page);
    await page.getByText('running…').waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.answer .badge', { hasText: 'stopped' }).waitFor();
    await hasAborted;
    await page.getByRole('link', { name: /^History/ }).click();
    await page.locator('.history summary .badge', { hasText: 'stopped' }).waitFor();
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
    await field(page, 'order').fill('kept');
    await page.getByRole('button', { name: /^Headers/ }).click();
    await value.fill('Bearer gone');
    await page.getByRole('button', { name: 'Use them' }).click();
    await page.getByText('not Bearer gone').waitFor();
    await value.last().fill('Bearer right');
    await tryWhatIsRight();
    assert.equal(await field(page, 'order').inputValue(), 'kept');
  });

  test('shows what was filled in as JSON where a reload brings a schema that does not name it', async (t) => {
    const router = new Router();
    const inline = { placement: 'inline' } as const;
    const before = Type.Object({ a: Type.String(), b: Type.Optional(Type.Integer()) });
    router.rpc({ name: 'changing', params: before, ...inline }, () => 1);
    const { page } = await browser.show(t, { options: { router }, hash: '#/p/changing' });
    await field(page, 'a').fill('kept');
    const next = new Router();
    next.rpc({ name: 'changing', params: Type.Object({ c: Type.String() }), ...inline }, () => 2);
    router.merge(next, '', { replace: true });
    const content = page.locator('json-editor .cm-content');
    await content.waitFor();
    assert.deepEqual(JSON.parse(await content.innerText()), { a: 'kept' });
    await page.getByText('it has members that the schema does not name').waitFor();
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

  test('lists ten thousand procedures, the first of them at once', async (t) => {
    const router = new Router();
    for (let i = 0; i < 10_000; i++) {
      router.rpc({ name: `space${i % 50}.procedure${i}`, placement: 'inline' }, () => i);
    }
    const shown = await browser.show(t, { options: { router } });
    const { page } = shown;
    await page.getByText('10,000 procedures').waitFor();
    assert.equal(await page.locator('.find li').count(), 500);
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Show all 10,000' }).click();
    await page.locator('.find li').nth(9999).waitFor();
    await page.getByLabel('Find a procedure').fill('procedure7777');
    await page.getByText('1 of 10,000').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'space27.procedure7777' }).waitFor();
    await press(page);
    assert.equal(await result(page), 7777);
    await assertQuiet(shown);
  });
});
