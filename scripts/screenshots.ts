/**
 * `npm run docs -- --screenshots [VIEW...]`: pictures of the console for docs/console.md, seven views in light and in dark
 * colours, into docs/console. They show a service under load: the shop of the console's tests.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import sharp from 'sharp';
import { RpcApp, RpcError } from '../src/index.ts';
import { chromiumPath } from '../test/programs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/console');
const shop = pathToFileURL(join(root, 'test/fixtures/console/procedures.ts')).href;

/** How long the live view gathers what it shows, milliseconds. */
const gatherMs = 75_000;

interface View {
  readonly name: string;
  readonly hash: string;
  readonly height: number;
  readonly prepare: (page: Page) => Promise<void>;
  /** The heading of the section that is shown; left out: the whole page. */
  readonly section?: string;
}

/** Writes the params of a procedure into its editor. */
function write(page: Page, params: object): Promise<void> {
  return page.locator('json-editor .cm-content').fill(JSON.stringify(params, undefined, 2));
}

const call = (page: Page) => page.getByRole('button', { name: /^Call/ }).click();

const views: readonly View[] = [
  {
    name: 'live',
    hash: '#/live',
    height: 1120,
    prepare: async (page) => {
      await page.waitForTimeout(gatherMs);
    },
  },
  {
    name: 'profile',
    hash: '#/live',
    height: 1180,
    section: 'Profile',
    prepare: async (page) => {
      await page.getByRole('spinbutton', { name: 'Seconds' }).fill('5');
      await page.getByRole('button', { name: 'Take a profile' }).click();
      const graph = page.getByRole('application', { name: /^Flame graph/ });
      await graph.waitFor();
    },
  },
  {
    name: 'call',
    hash: '#/p/orders.place',
    height: 1260,
    prepare: async (page) => {
      await write(page, {
        customer: {
          name: 'Ada Lovelace',
          address: { street: '12 St James Square', country: 'FR' },
        },
        lines: [{ sku: 'MUG-001', quantity: 2 }],
      });
      await call(page);
      await page.getByRole('group', { name: 'Result' }).waitFor();
    },
  },
  {
    name: 'error',
    hash: '#/p/orders.pay',
    height: 860,
    prepare: async (page) => {
      await write(page, { order: 'ORD-1', cents: 25.8 });
      await call(page);
      await page.locator('json-editor .fault').waitFor();
    },
  },
  {
    name: 'stream',
    hash: '#/p/shipping.watch',
    height: 860,
    prepare: async (page) => {
      await page.getByRole('button', { name: /^Open the stream/ }).click();
      await page.locator('.values li').nth(40).waitFor();
    },
  },
  {
    name: 'batch',
    hash: '#/p/catalog.find',
    height: 860,
    prepare: async (page) => {
      await write(page, { word: 'mug' });
      await page.getByRole('button', { name: 'Add to batch' }).click();
      await page.getByRole('link', { name: 'pay', exact: true }).click();
      await page.getByRole('heading', { name: 'orders.pay' }).waitFor();
      await write(page, { order: 'ORD-1', cents: 2580 });
      await page.getByRole('button', { name: 'Add to batch' }).click();
      await page.getByRole('link', { name: /^Batch/ }).click();
      await page.getByRole('button', { name: /^Send/ }).click();
      await page.locator('.reply').nth(1).waitFor();
    },
  },
  {
    name: 'refused',
    hash: '',
    height: 560,
    prepare: async (page) => {
      await page.getByText('a token is needed').waitFor();
    },
  },
];

/** Calls of several kinds, until it is told to stop: light ones all the time, heavy ones and mistakes now and then. */
async function load(app: RpcApp, signal: AbortSignal): Promise<void> {
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const ask = (method: string, params: object) =>
    app.dispatcher.dispatch({ id: 1, method, params });
  const again = async (everyMs: number, run: () => Promise<unknown>): Promise<void> => {
    while (!signal.aborted) {
      await run();
      await pause(everyMs * (0.5 + Math.random()));
    }
  };
  const order = {
    customer: { name: 'Ada', address: { street: 'a', country: 'FR' } },
    lines: [{ sku: 'MUG-001', quantity: 1 }],
  };
  await Promise.all([
    ...Array.from({ length: 4 }, () => again(4, () => ask('catalog.find', { word: 'mug' }))),
    again(12, () => ask('orders.place', order)),
    again(150, () => ask('orders.pay', { order: 'ORD-1', cents: 1 })),
    ...Array.from({ length: 3 }, () =>
      again(300, () => ask('auth.hash', { password: 'x', rounds: 150_000 })),
    ),
  ]);
}

async function shoot(browser: Browser, url: string, view: View, scheme: 'light' | 'dark') {
  const context = await browser.newContext({
    viewport: { width: 1280, height: view.height },
    colorScheme: scheme,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url + view.hash);
  await view.prepare(page);
  const heading = page.getByRole('heading', { name: view.section ?? '' });
  const shown =
    view.section === undefined ? page : page.locator('section').filter({ has: heading }).last();
  const picture = await shown.screenshot();
  await context.close();
  const file = join(folder, `${view.name}-${scheme}.png`);
  const { size } = await sharp(picture).png({ palette: true, effort: 10 }).toFile(file);
  console.log(`${file}: ${Math.round(size / 1024)} KB`);
}

mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(3);
const common = {
  modules: [shop],
  workers: 2,
  logLevel: 'error',
  console: true,
  startTimeoutMs: 300_000,
} as const;
const open = new RpcApp({ ...common, port: 8000 });
const guarded = new RpcApp({
  ...common,
  port: 0,
  authenticate: () => {
    throw new RpcError(4001, 'a token is needed');
  },
});
const browser = await chromium.launch({
  ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
  args: ['--no-sandbox'],
});
const stop = new AbortController();
try {
  const urls = {
    open: (await open.listen()).consoleUrl,
    guarded: (await guarded.listen()).consoleUrl,
  };
  const loading = load(open, stop.signal);
  for (const view of views) {
    if (wanted.length > 0 && !wanted.includes(view.name)) continue;
    const url = view.name === 'refused' ? urls.guarded : urls.open;
    if (url === undefined) throw new Error('the console could not be built');
    // A process takes one profile at a time.
    if (view.name === 'profile') {
      await shoot(browser, url, view, 'light');
      await shoot(browser, url, view, 'dark');
      continue;
    }
    await Promise.all(
      (['light', 'dark'] as const).map((scheme) => shoot(browser, url, view, scheme)),
    );
  }
  stop.abort();
  await loading;
} finally {
  stop.abort();
  await browser.close();
  await Promise.all([open.close(), guarded.close()]);
}
