/** docs/console.md, "A profile": the button and the flame graph in a browser. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { AppOptions } from '../../src/index.ts';
import { fixture } from '../files.ts';
import { until } from '../turns.ts';
import { assertQuiet, noBrowser, OneBrowser, type Shown, violations } from './browser.ts';

const options = { modules: [fixture('insight/burning.ts')], workers: 1, spareWorkers: 0 };

/** Takes a profile while the service computes, and waits until it is shown. */
async function profiled({ page, app }: Shown): Promise<void> {
  await page.getByRole('spinbutton', { name: 'Seconds' }).fill('1');
  const graph = page.getByRole('application', { name: /^Flame graph/ });
  let isShown = false;
  // What is there for as long as the profile takes is waited for, and computed, from before the click on.
  const shown = Promise.all([
    page.getByText('The threads are watched for 1 s').waitFor(),
    page.getByRole('button', { name: 'Take a profile' }).click(),
  ])
    .then(() => graph.waitFor())
    .finally(() => {
      isShown = true;
    });
  while (!isShown) {
    const call = { jsonrpc: '2.0', id: 1, method: 'direct', params: { ms: 20 } };
    await app.dispatcher.dispatch(call);
  }
  await shown;
}

const frameText = (page: Page): Promise<string> => page.locator('#flame-frame').innerText();

/** Resolves when the canvas has more than one colour: it is painted a frame after it is there. */
const painted = (page: Page): Promise<void> =>
  until(() =>
    page.evaluate<boolean>(`(() => {
    const canvas = document.querySelector('.flame canvas');
    const copy = document.createElement('canvas');
    Object.assign(copy, { width: canvas.width, height: canvas.height });
    const pen = copy.getContext('2d', { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    return new Set(new Uint32Array(data.buffer)).size > 2;
  })()`),
  );

describe('a profile in the console', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  test('is a flame graph and a table; keys, search and threads lead through it', async (t) => {
    const shown = await browser.show(t, { hash: '#/live', options });
    const { page } = shown;
    await profiled(shown);
    await painted(page);
    const table = page.getByRole('group', { name: 'Functions by samples' });
    await table.getByRole('rowheader', { name: 'burn' }).waitFor();
    const graph = page.getByRole('application', { name: /^Flame graph/ });
    await graph.focus();
    assert.match(await frameText(page), /^\(root\) — 100\.0% with what it calls/);
    await page.keyboard.press('ArrowDown');
    const below = await frameText(page);
    assert.doesNotMatch(below, /^\(root\)/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowUp');
    assert.match(await frameText(page), /^\(root\)/);
    await page.keyboard.press('Escape');
    await page.getByLabel('Search').fill('burn');
    await painted(page);
    await graph.click({ position: { x: 20, y: 27 } });
    assert.doesNotMatch(await frameText(page), /^\(root\)/);
    const worker = await page.locator('option', { hasText: /^worker-/ }).innerText();
    await page.getByLabel('Thread').selectOption({ label: worker });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download .cpuprofile' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${worker}.cpuprofile`);
    const file = JSON.parse(readFileSync(await download.path(), 'utf8')) as { nodes: unknown[] };
    assert.ok(file.nodes.length > 1);
    assert.deepEqual(await violations(page), []);
    await assertQuiet(shown);
  });

  for (const scheme of ['light', 'dark'] as const)
    test(`fits 320 pixels in ${scheme} colours, is stopped by its button, and says why it is refused`, async (t) => {
      const orders = new EventEmitter();
      // The server begins a profile in the turn in which it has asked who orders it.
      const authenticate: AppOptions['authenticate'] = ({ path }) => {
        if (path.endsWith('/profile')) orders.emit('order');
        return 'operator';
      };
      const shown = await browser.show(t, {
        hash: '#/live',
        options: { ...options, authenticate },
        width: 320,
        scheme,
      });
      const { page, url, complaints } = shown;
      const order = (seconds: number, signal: AbortSignal | null = null) =>
        fetch(new URL(`profile?seconds=${seconds}`, url), { method: 'POST', signal });
      /** Waits until the profile that was ordered last has stopped. */
      const stopped = async (): Promise<void> => {
        while ((await order(0.02)).status !== 200);
      };
      const seconds = page.getByRole('spinbutton', { name: 'Seconds' });
      await seconds.fill('60');

      const leave = new AbortController();
      const held = once(orders, 'order');
      const beside = order(60, leave.signal);
      await held;
      await Promise.all([page.waitForEvent('console'), seconds.press('Enter')]);
      await page.getByRole('alert').getByText('is under way: there is one at a time').waitFor();
      assert.match(complaints.splice(0).join('\n'), /^Failed to load resource: .* 409 [^\n]*$/);
      leave.abort();
      await assert.rejects(beside, { name: 'AbortError' });
      await stopped();

      await Promise.all([once(orders, 'order'), seconds.press('Enter')]);
      assert.equal((await order(1)).status, 409);
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      await stopped();
      assert.equal(await page.getByRole('application', { name: /^Flame graph/ }).count(), 0);

      await profiled(shown);
      await painted(page);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 320, `${width} pixels`);
      assert.deepEqual(await violations(page), []);
      await assertQuiet(shown);
    });

  test('is not offered where the console may not act', async (t) => {
    const shown = await browser.show(t, {
      hash: '#/live',
      options: { ...options, allowedHosts: ['127.0.0.1'], console: true },
    });
    await shown.page.getByRole('heading', { name: 'Workers' }).waitFor();
    assert.equal(await shown.page.getByRole('heading', { name: 'Profile' }).count(), 0);
  });
});
