import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { Router, RpcError, Type } from '../../src/index.ts';
import { servers } from '../servers.ts';
import {
  assertKeepsNothing,
  assertQuiet,
  editor,
  noBrowser,
  OneBrowser,
  procedures,
  violations,
  write,
  written,
} from './browser.ts';

/** Presses a button, which says for a moment that it has copied. */
async function copy(page: Page, name: string | RegExp): Promise<void> {
  const button = page.getByRole('button', { name });
  // What it copied before is not said any more.
  await button.waitFor();
  await Promise.all([page.getByText('Copied').waitFor(), button.click()]);
}

describe('the console in a browser', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  for (const transport of servers) {
    test(`calls a procedure and shows its answer, on ${transport}`, async (t) => {
      const shown = await browser.show(t, { options: { transport } });
      const { page } = shown;
      await page.getByRole('link', { name: 'find', exact: true }).click();
      assert.equal(await written(page), '{\n  "word": "mug"\n}');
      await write(page, { word: 'mug', limit: 1 });
      await page.keyboard.press('Control+Enter');
      const result = page.getByRole('group', { name: 'Result' });
      await result.waitFor();
      assert.deepEqual(JSON.parse(await result.innerText()), [{ sku: 'MUG-001', name: 'A mug' }]);
      const facts = await page.locator('.answer .facts').innerText();
      assert.match(facts, /200 OK\s+[\d.]+ m?s\s+\d+ B/);
      await page.getByText(/^Headers \(/).click();
      await page.getByRole('cell', { name: 'application/json' }).waitFor();
      await assertQuiet(shown);
    });
  }

  test('shows the data of an error as a table', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/orders.pay' });
    await write(page, { order: 'ORD-1', cents: 100 });
    await page.getByRole('button', { name: /^Call/ }).click();
    await page.locator('.error strong', { hasText: 'Card declined' }).waitFor();
    await page.getByRole('row', { name: 'bank First' }).waitFor();
    await page.getByRole('row', { name: 'attempts 3' }).waitFor();
  });

  test('shows what the server refuses at its place in the params, with the cursor at the first of it', async (t) => {
    const shown = await browser.show(t, { hash: '#/p/orders.place' });
    const { page } = shown;
    const lines = [
      { sku: 'MUG-001', quantity: 1 },
      { sku: 'mug', quantity: 1.5 },
    ];
    await write(page, { lines, customer: { name: 'Ada', address: { street: 'a' } } });
    await page.getByRole('button', { name: /^Call/ }).click();
    const faults = editor(page).locator('.fault');
    await faults.nth(2).waitFor();
    assert.deepEqual((await faults.allInnerTexts()).toSorted(), [
      '/country is required',
      'must be an integer',
      'must match the pattern ^[A-Z]{3}-[0-9]{3}$',
    ]);
    const marked = await editor(page).locator('.refused').allInnerTexts();
    assert.deepEqual(marked, ['"mug"', '1.5', '{"street":"a"}']);
    assert.equal(await editor(page).getAttribute('aria-invalid'), 'true');
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Delete');
    assert.match(await written(page), /"sku":mug",/);
    await write(page, {
      lines: lines.slice(0, 1),
      customer: { name: 'Ada', address: { street: 'a', country: 'FR' } },
    });
    await page.keyboard.press('Control+Enter');
    await page.getByRole('group', { name: 'Result' }).waitFor();
    assert.equal(await faults.count(), 0);
    assert.equal(await editor(page).getAttribute('aria-invalid'), 'false');
    await assertQuiet(shown);
  });

  test('sends nothing that is not JSON, and says why', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/tools.echo' });
    await editor(page).fill('{}, "method": "orders.cancel"');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').filter({ hasText: /JSON/ }).waitFor();
    assert.equal(await page.locator('.answer').count(), 0);
    assert.deepEqual(await violations(page), []);
    await write(page, {});
    await page.keyboard.press('Control+Enter');
    await page.getByRole('group', { name: 'Result' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('begins with an example of all required params, which the server accepts', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/orders.place' });
    assert.deepEqual(JSON.parse(await written(page)), {
      customer: { name: 'Ada', address: { street: 'hello', country: 'DE' } },
      lines: [{ sku: 'MUG-001', quantity: 3 }],
    });
    await page.getByRole('button', { name: /^Call/ }).click();
    const result = page.getByRole('group', { name: 'Result' });
    await result.waitFor();
    assert.deepEqual(JSON.parse(await result.innerText()), { order: 'ORD-1', cents: 3870 });
  });

  test('takes JSON to the letter, completes it from the schema, and keeps to the policy', async (t) => {
    const shown = await browser.show(t, { hash: '#/p/tools.echo' });
    const { page } = shown;
    await editor(page).click();
    await page.keyboard.type('{"big": 9007199254740993}');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('group', { name: 'Result' }).waitFor();
    const body = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('button', { name: /^Call/ }).click();
    assert.match((await body).postData() ?? '', /"params":\{"big": 9007199254740993\}\}$/);
    await page.goto(`${shown.url}#/p/orders.pay`);
    await page.getByRole('heading', { name: 'orders.pay' }).waitFor();
    await editor(page).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('{');
    await page.keyboard.press('Control+Space');
    await page.getByRole('option', { name: '"cents"' }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('5, "o');
    await page.getByRole('option', { name: '"order"' }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('"ORD-1"}');
    assert.deepEqual(JSON.parse(await written(page)), { cents: 5, order: 'ORD-1' });
    await assertQuiet(shown);
  });

  test('notifies, and sends a batch in the order that it was given', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/catalog.find' });
    await write(page, { word: 'tee' });
    await page.getByRole('button', { name: 'Notify' }).click();
    await page.getByText('There is no reply to a notification').waitFor();
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('link', { name: 'cancel' }).click();
    await page.getByRole('heading', { name: 'orders.cancel' }).waitFor();
    await write(page, { order: 'ORD-9' });
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('link', { name: 'find', exact: true }).click();
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('link', { name: /^Batch/ }).click();
    await page.getByRole('button', { name: 'Move orders.cancel up' }).click();
    await page.getByRole('button', { name: 'Remove catalog.find' }).last().click();
    assert.deepEqual(await page.locator('.entry-name').allInnerTexts(), [
      'orders.cancel',
      'catalog.find',
    ]);
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Send 2 calls' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send it' }).click();
    await page.locator('.reply').nth(1).waitFor();
    assert.match(await page.locator('.reply').first().innerText(), /true/);
    assert.match(await page.locator('.reply').last().innerText(), /TEE-002/);
  });

  test('asks before what is declared destructive', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/orders.cancel' });
    await write(page, { order: 'ORD-1' });
    await page.getByRole('button', { name: /^Call/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.locator('.answer').count(), 0);
    await page.getByRole('button', { name: /^Call/ }).click();
    await dialog.getByRole('button', { name: 'Call it' }).click();
    await page.getByRole('group', { name: 'Result' }).waitFor();
  });

  test('shows a stream as it comes, to its end, and stops one that has none', async (t) => {
    const shown = await browser.show(t, { hash: '#/p/shipping.track' });
    const { page } = shown;
    await write(page, { parcel: 'P-1', steps: 5000 });
    await page.getByRole('button', { name: /^Open the stream/ }).click();
    await page.getByText('5,000 values').waitFor();
    await page.getByText('the last 200 are shown; the stream has ended').waitFor();
    assert.match(await page.locator('.values li').first().innerText(), /5000\s+\{"step":5000/);
    assert.match(await page.getByRole('group', { name: 'Result' }).innerText(), /"delivered"/);
    await page.getByRole('link', { name: /watch/ }).click();
    await page.getByRole('button', { name: /^Open the stream/ }).click();
    await page.locator('.values li').nth(3).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.answer .badge', { hasText: 'stopped' }).waitFor();
    await assertQuiet(shown);
  });

  test('copies a command and typed code; secrets are not in them', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/catalog.find' });
    await page.getByRole('button', { name: 'Headers' }).click();
    await page.getByRole('button', { name: 'Add a header' }).click();
    await page.getByLabel('Value of authorization').fill('Bearer secret');
    assert.deepEqual(await violations(page), []);
    await write(page, { word: "it's" });
    const copied = async (): Promise<string> => {
      await copy(page, /^Copy the co/);
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const command = await copied();
    assert.match(command, /^curl http:\/\/127\.0\.0\.1:\d+\/rpc/);
    assert.match(command, /-H 'authorization: \.\.\.'/);
    assert.ok(command.includes(`"params":{"word":"it'\\''s"}}'`), command);
    await page.getByRole('button', { name: 'TypeScript' }).click();
    await page.getByRole('button', { name: 'Copy the code' }).waitFor();
    const code = await copied();
    assert.match(code, /await client\.catalog\.find\(\{ word: "it's" \}\)/);
    assert.ok(!`${command}${code}`.includes('secret'));
  });

  test('links the URL of a procedure with its params, and copies the command of it', async (t) => {
    const shown = await browser.show(t, {
      options: { httpPath: '/api', httpProcedures: ['catalog.*', 'orders.*'] },
      hash: '#/p/catalog.find',
      width: 320,
    });
    const { page, url } = shown;
    const copied = async (): Promise<string> => {
      await page.getByRole('button', { name: 'Plain HTTP' }).click();
      await copy(page, 'Copy the command');
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    await write(page, { word: 'mug & tee' });
    const link = new URL('/api/catalog.find?word=mug+%26+tee', url).href;
    assert.equal(await page.locator('.url a').first().getAttribute('href'), link);
    assert.equal(await copied(), `curl '${link}'`);
    assert.equal((await fetch(link)).status, 200);
    assert.deepEqual(await violations(page), []);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(width <= 320, `${width} px wide`);

    await page.goto(`${url}#/p/orders.cancel`);
    await page.getByRole('heading', { name: 'orders.cancel' }).waitFor();
    await write(page, { order: 'ORD-1' });
    const post = new URL('/api/orders.cancel', url).href;
    assert.equal(await page.locator('.url').innerText(), `POST ${post} OpenAPI document`);
    const command = [
      `curl ${post}`,
      `-H 'content-type: application/json'`,
      `-d '{"order":"ORD-1"}'`,
    ];
    assert.equal(await copied(), command.join(' \\\n  '));
    const described = page.getByRole('link', { name: 'OpenAPI document' });
    const document = new URL('/openapi.json', url).href;
    assert.equal(await described.getAttribute('href'), document);
    assert.equal((await fetch(document)).status, 200);

    await page.goto(`${url}#/p/orders.pay`);
    await page.getByText('Errors it declares').click();
    const error = page.getByRole('row', { name: 'Declined' });
    assert.equal(
      (await error.innerText()).replace(/\s+/g, ' '),
      'Declined 2002 HTTP 422 Card declined',
    );
    assert.deepEqual(await violations(page), []);

    await page.goto(`${url}#/p/tools.echo`);
    await page.getByRole('heading', { name: 'tools.echo' }).waitFor();
    assert.equal(await page.locator('.url').count(), 0);
    await assertQuiet(shown);
  });

  test('is used by keyboard alone: find, arrows, tab, call', async (t) => {
    const { page } = await browser.show(t);
    await page.locator('.find li a').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('pay');
    await page.locator('.found', { hasText: '2 of 10' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'orders.pay' }).waitFor();
    for (let i = 0; i < 40; i++) {
      if ((await page.locator('json-editor:focus').count()) === 1) break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Control+a');
    await page.keyboard.type('{"order": "ORD-1", "cents": 5}');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('row', { name: 'bank First' }).waitFor();
  });

  test('keeps a history in memory, and sends from it again', async (t) => {
    const { page } = await browser.show(t, { hash: '#/p/catalog.find' });
    await write(page, { word: 'mug' });
    await page.getByRole('button', { name: /^Call/ }).click();
    await page.getByRole('group', { name: 'Result' }).waitFor();
    await page.getByRole('link', { name: /^History/ }).click();
    await page.locator('.history summary').first().click();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Send again catalog.find' }).first().click();
    await page.locator('.history > li').nth(1).waitFor();
    await page.getByRole('link', { name: 'Edit catalog.find' }).first().click();
    assert.deepEqual(JSON.parse(await written(page)), { word: 'mug' });
  });

  test('sees a reload of the procedures, and keeps what was filled in', async (t) => {
    const router = new Router();
    const params = Type.Object({ a: Type.String() });
    router.rpc({ name: 'first', placement: 'inline', params }, () => 1);
    const { page } = await browser.show(t, {
      options: { router },
      hash: '#/p/first',
    });
    await write(page, { a: 'kept' });
    router.rpc({ name: 'second', placement: 'inline' }, () => 2);
    await page.getByRole('link', { name: 'second' }).waitFor();
    assert.deepEqual(JSON.parse(await written(page)), { a: 'kept' });
  });

  test('stays quick with a thousand procedures', async (t) => {
    const router = new Router();
    for (let i = 0; i < 1000; i++) {
      router.rpc({ name: `space${i % 20}.procedure${i}`, placement: 'inline' }, () => i);
    }
    const shown = await browser.show(t, {
      options: { router },
    });
    const { page } = shown;
    await page.getByText('1,000 procedures').waitFor();
    await page.getByLabel('Find a procedure').fill('procedure777');
    await page.locator('.found', { hasText: '1 of 1,000' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'space17.procedure777' }).waitFor();
    await assertQuiet(shown);
  });

  test('shows why it is refused, then what a token opens', async (t) => {
    const { page, url } = await browser.show(t, {
      options: {
        authenticate: ({ headers }) => {
          if (headers.authorization !== 'Bearer secret')
            throw new RpcError(4001, 'a token is needed');
        },
      },
    });
    await page.getByText('a token is needed').waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('link', { name: 'Live' }).click();
    await page.getByRole('heading', { name: 'The figures are not for everybody' }).waitFor();
    await page.getByLabel('Value of authorization').fill('Bearer secret');
    await page.getByRole('heading', { name: 'Live' }).waitFor();
    await page.goto(`${url}#/`);
    await page.getByRole('link', { name: 'find', exact: true }).waitFor();
    await assertKeepsNothing(page);
  });

  test('has a box for whole requests where the service does not describe itself', async (t) => {
    const shown = await browser.show(t, { options: { introspection: false } });
    const { page } = shown;
    const box = page.getByLabel('Request as JSON');
    await box.fill('{"id":7,"method":"catalog.find","params":{"word":"mug"}}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('MUG-001').first().waitFor();
    assert.deepEqual(await violations(page), []);
    await assertQuiet(shown);
  });

  for (const scheme of ['light', 'dark'] as const) {
    test(`has no fault that axe finds, in ${scheme} colours, on any view`, async (t) => {
      const shown = await browser.show(t, { scheme });
      const { page, url } = shown;
      for (const [hash, ready] of [
        ['#/', 'Try a procedure'],
        ['#/p/orders.place', 'orders.place'],
        ['#/p/tools.payment', 'tools.payment'],
        ['#/p/nobody', 'nobody is not served'],
        ['#/batch', 'Batch'],
        ['#/history', 'History'],
        ['#/live', 'Live'],
      ] as const) {
        await page.goto(`${url}${hash}`);
        await page.getByRole('heading', { name: ready }).waitFor();
        assert.deepEqual(await violations(page), [], hash);
      }
      await assertQuiet(shown);
    });
  }

  test('fits a width of 320 px on every view', async (t) => {
    const { page, url } = await browser.show(t, { width: 320 });
    for (const [hash, ready] of [
      ['#/', 'find'],
      ['#/p/orders.place', 'orders.place'],
      ['#/batch', 'Batch'],
      ['#/history', 'History'],
      ['#/live', 'Live'],
    ] as const) {
      await page.goto(`${url}${hash}`);
      await page.getByText(ready, { exact: true }).first().waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 320, `${hash} is ${width} px wide`);
    }
  });

  test('watches the service: what a worker runs now, calls, placement with its reason, events', async (t) => {
    const shown = await browser.show(t, { options: { modules: [procedures] }, hash: '#/live' });
    const { page, app } = shown;
    await page.getByRole('heading', { name: 'Live' }).waitFor();
    const stop = new AbortController();
    const params = { password: 'x', rounds: 200_000 };
    const load = async (): Promise<void> => {
      while (!stop.signal.aborted)
        await app.dispatcher.dispatch({ method: 'auth.hash', params, id: 1 });
    };
    const loading = load();
    await page.locator('code.busy', { hasText: 'auth.hash' }).waitFor();
    const cpu = process.platform === 'linux' ? '[1-9]\\d*%' : '–';
    const thread = new RegExp(`^1 \\d+ auth\\.hash [\\d.]+ m?s ${cpu} [\\d.]+ MB 1 `);
    await page.getByRole('row', { name: thread }).waitFor();
    const called = /^auth\.hash worker synchronous [\d.]*[1-9][\d.]* [1-9]\d*% /;
    await page.getByRole('row', { name: called }).waitFor();
    stop.abort();
    await loading;
    await page.locator('.events li', { hasText: 'ready' }).waitFor();
    await page.getByText('As a table').first().click();
    await page.getByRole('group', { name: 'Calls a second, the last ten seconds' }).waitFor();
    assert.equal(await page.locator('.chart canvas').count(), 4);
    assert.deepEqual(await violations(page), []);
    await assertQuiet(shown);
  });
});
