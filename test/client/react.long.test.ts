/** Plays docs/recipes/react.md: the packed packages, compiled by every TypeScript, in a browser. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { installPacked, installPackedClient } from '../cli/packed.ts';
import { startNode } from '../cli/process.ts';
import { compilers } from '../compilers.ts';
import { noBrowser, OneBrowser } from '../console/browser.ts';
import { compilerOptions } from '../docs/guide/project.ts';
import { fences, read } from '../docs/pages.ts';
import { temporaryFolder } from '../files.ts';
import { listenTo, makeApp } from '../harness.ts';
import { until } from '../turns.ts';

const files = fences(read('docs/recipes/react.md')).flatMap(({ text }) => {
  const [, name] = /^\/\/ (\S+\.tsx?)\n/.exec(text) ?? [];
  return name === undefined ? [] : [{ name, text }];
});

describe('docs/recipes/react.md', () => {
  const folder = temporaryFolder({ after });
  before(async () => {
    await installPacked(folder);
    await installPackedClient(folder, true);
    for (const { name, text } of files) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const options = {
      ...compilerOptions,
      lib: ['es2023', 'dom', 'dom.iterable'],
      module: 'esnext',
      moduleResolution: 'bundler',
      jsx: 'react-jsx',
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, include: ['*.ts', '*.tsx'] }),
    );
  });
  const browser = new OneBrowser();

  for (const { version, main } of compilers) {
    test(`has the right types: TypeScript ${version}`, async () => {
      const { stdout } = await startNode([main, '-p', folder]).exit;
      assert.equal(stdout, '');
    });
  }

  test('queries, places an order, reads a stream, and leaves it: the server sees that', {
    skip: noBrowser,
  }, async (t) => {
    const { outputFiles } = await build({
      entryPoints: [join(folder, 'page.tsx')],
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
      write: false,
    });
    const { app } = makeApp(t, { modules: [join(folder, 'service.ts')] });
    const handle = app.nodeHandler();
    const port = await listenTo(t, (request, response) => {
      if (request.url === '/rpc') return handle(request, response);
      const isPage = request.url === '/';
      response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
      response.end(
        isPage
          ? '<!doctype html><title>Orders</title><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>'
          : outputFiles[0]?.contents,
      );
    });
    const { page, complaints } = await browser.open(t, `http://127.0.0.1:${port}/`);
    await page.getByRole('listitem').filter({ hasText: 'cup' }).waitFor();
    await page.getByRole('button', { name: 'Order a mug' }).click();
    // The list is asked for again, since the mutation has invalidated it.
    await page.getByRole('listitem').filter({ hasText: 'mug' }).waitFor();
    await page.getByText(/^\d{1,9} ticks$/).waitFor();
    const open = (): unknown => app.dispatcher.metrics?.snapshot().gauges?.openStreams;
    assert.equal(open(), 1);
    await page.getByRole('button', { name: 'Hide the ticker' }).click();
    await until(() => open() === 0);
    assert.deepEqual(complaints, []);
  });
});
