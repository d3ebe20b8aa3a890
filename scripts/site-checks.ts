/** What a browser finds wrong with the built site, in light and dark colours, on a desktop and on a phone. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../test/programs.ts';

/** One of each kind. axe looks at these; at the width of a phone all pages are measured. */
const samples = [
  'index.html',
  'guide/first-service.html',
  'recipes/uploads.html',
  'benchmark.html',
  'reference/options.html',
  'examples/media/procedures.ts.html',
  '404.html',
] as const;

const desktop = 1280;
const tablet = 768;
const phone = 375;

const origin = 'http://site.test/';

/** Answers as a server of files does. */
async function serveFiles(context: BrowserContext, dist: string): Promise<void> {
  await context.route('**/*', async (route) => {
    const { pathname } = new URL(route.request().url());
    const named = join(dist, decodeURIComponent(pathname));
    const path =
      existsSync(named) && statSync(named).isDirectory() ? join(named, 'index.html') : named;
    if (existsSync(path)) await route.fulfill({ path });
    else await route.fulfill({ status: 404, body: `no ${pathname}` });
  });
}

/** What axe finds, and what the page writes to the browser's log. */
async function examine(browser: Browser, dist: string): Promise<string[]> {
  const findings: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [desktop, phone]) {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
      await serveFiles(context, dist);
      const page = await context.newPage();
      let where = '';
      const note = (text: string): number => findings.push(`${where}: ${text}`);
      page.on('pageerror', (error) => note(String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) note(message.text());
      });
      for (const name of samples) {
        where = `${name}, ${colorScheme}, ${width} px`;
        await page.goto(origin + name, { waitUntil: 'networkidle' });
        for (const text of await violations(page)) note(text);
      }
      await context.close();
    }
  }
  return findings;
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations: all } = await page.evaluate<Pick<AxeResults, 'violations'>>('axe.run()');
  return all.map(
    ({ id, nodes }) => `axe: ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`,
  );
}

/** Pages, and blocks of code in them, that are wider than a phone or a tablet. Tables have a scroll bar of their own. */
async function measureWidths(browser: Browser, dist: string): Promise<string[]> {
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const pages = names
    .filter((name) => name.endsWith('.html'))
    .map((name) => name.replaceAll('\\', '/'));
  // The HTML and its styles decide; without the scripts a page takes a fraction of the time.
  const context = await browser.newContext({ javaScriptEnabled: false });
  await serveFiles(context, dist);
  const page = await context.newPage();
  const findings: string[] = [];
  const measure = async (width: number, name: string, selector: string): Promise<void> => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(origin + name);
    const wide = await page.evaluate<string[]>(`
      [...document.querySelectorAll('${selector}')]
        .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth)
        .map((one) => one.tagName.toLowerCase() + ' is ' + one.scrollWidth + ' px wide: ' + one.textContent.trim().slice(0, 80))
    `);
    for (const text of wide) findings.push(`${name} at ${width} px: ${text}`);
  };
  for (const name of pages) await measure(phone, name, 'html, pre');
  for (const name of samples) await measure(tablet, name, 'html');
  await context.close();
  return findings;
}

/** @returns a line for each finding; undefined: there is no Chromium here, which in CI is an error */
export async function findFaults(dist: string): Promise<string[] | undefined> {
  if (chromiumPath === undefined) {
    if ((process.env.CI ?? '') !== '') throw new Error('no Chromium: apt-get install chromium');
    return undefined;
  }
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
  try {
    return [...(await measureWidths(browser, dist)), ...(await examine(browser, dist))];
  } finally {
    await browser.close();
  }
}
