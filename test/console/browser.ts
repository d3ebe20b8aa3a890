import assert from 'node:assert/strict';
import { after, before, type TestContext } from 'node:test';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import type { AppOptions, RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import shop from '../fixtures/console/procedures.ts';
import { startApp } from '../harness.ts';
import { chromiumPath } from '../programs.ts';
import { ensureBuilt } from './get.ts';

/** Why the tests in a browser do not run here; false: they do. */
export const noBrowser: string | false =
  chromiumPath === undefined &&
  'no Chromium here: apt-get install chromium, or set CHROMIUM_PATH to one';

/** Milliseconds: how long the browser may take to start, and something on the page, on a machine that is busy with other things. */
const patienceMs = 120_000;

/** The module with workers, for tests that are about them; the others have its router. */
export const procedures: string = moduleUrl('test/fixtures/console/procedures.ts');

/** A page of a service of its own, and what it has written to its log. */
export interface Shown {
  readonly page: Page;
  readonly app: RpcApp;
  /** The URL of the console. */
  readonly url: string;
  /** Errors and warnings of the page. */
  readonly complaints: string[];
  /** The hosts that the page has asked. */
  readonly hosts: ReadonlySet<string>;
}

export interface ShowOptions {
  readonly options?: AppOptions;
  readonly width?: number | undefined;
  readonly scheme?: 'light' | 'dark' | undefined;
  /** Behind the console's own URL. */
  readonly hash?: string;
}

/** One browser for a file of tests. */
export class OneBrowser {
  #browser: Browser | undefined;

  constructor() {
    before(async () => {
      if (noBrowser !== false) return;
      await ensureBuilt();
      this.#browser = await chromium.launch({
        executablePath: chromiumPath as string,
        args: ['--no-sandbox'],
        timeout: patienceMs,
      });
    });
    after(() => this.#browser?.close());
  }

  /** Starts a service, and opens its console in a context of its own. */
  async show(
    t: TestContext,
    { options, width = 1280, scheme, hash = '' }: ShowOptions = {},
  ): Promise<Shown> {
    const source = options?.modules === undefined ? { router: shop } : {};
    const { app, consoleUrl } = await startApp(t, { ...source, ...options });
    assert.ok(consoleUrl !== undefined);
    const opened = await this.open(t, consoleUrl + hash, { width, scheme });
    return { ...opened, app, url: consoleUrl };
  }

  /** Opens a page of any server in a context of its own. */
  async open(
    t: TestContext,
    url: string,
    { width = 1280, scheme }: Pick<ShowOptions, 'width' | 'scheme'> = {},
  ): Promise<Pick<Shown, 'page' | 'complaints' | 'hosts'>> {
    assert.ok(this.#browser !== undefined);
    const context = await this.#browser.newContext({
      viewport: { width, height: 800 },
      ...(scheme === undefined ? {} : { colorScheme: scheme }),
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    // Before the app: a page that polls must not meet a server that has gone.
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(patienceMs);
    const complaints: string[] = [];
    const hosts = new Set<string>();
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host);
    });
    await page.goto(url);
    return { page, complaints, hosts };
  }
}

/** What axe finds wrong with the page as it is. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated by the browser's own protocol, which the policy of the page does not bind.
  await page.evaluate(axe.source);
  const { violations: all } = await page.evaluate<Pick<AxeResults, 'violations'>>('axe.run()');
  return all.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Nothing in the page's log, nobody else asked, nothing kept. */
export async function assertQuiet({ page, complaints, hosts, url }: Shown): Promise<void> {
  assert.deepEqual(complaints, []);
  assert.deepEqual([...hosts], [new URL(url).host]);
  await assertKeepsNothing(page);
}

/** The page's storage is empty: what it was told lives in its memory only. */
export async function assertKeepsNothing(page: Page): Promise<void> {
  const kept = await page.evaluate<unknown>(
    '[document.cookie, localStorage.length, sessionStorage.length]',
  );
  assert.deepEqual(kept, ['', 0, 0]);
}

/** The editor of a procedure's params, which is there as soon as the example is. */
export function editor(page: Page): Locator {
  return page.locator('json-editor .cm-content');
}

/** Writes params instead of those that are there. */
export async function write(page: Page, params: unknown): Promise<void> {
  await editor(page).press('Control+a');
  await page.keyboard.insertText(JSON.stringify(params));
}

/** The params as they are written, without what is said of them. */
export async function written(page: Page): Promise<string> {
  await editor(page).waitFor();
  return (await editor(page).locator('.cm-line').allInnerTexts()).join('\n');
}
