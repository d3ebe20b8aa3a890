/**
 * `npm run docs:site`: builds the site of docs/site/dist from the pages of the repository, by VitePress, which is installed
 * in docs/site, and checks it: VitePress fails at a link to a page that is not there, this script looks for headings and files that links name, and a
 * browser for what does not fit a phone and for what axe finds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { findFaults } from './site-checks.ts';
import { installSite, site } from './site-packages.ts';
import { readSite, writePages, writeTexts } from './site-pages.ts';

const dist = join(site, 'dist');

function build(): void {
  const vitepress = join(site, 'node_modules/vitepress/bin/vitepress.js');
  const { status } = spawnSync(process.execPath, [vitepress, 'build'], {
    cwd: site,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`vitepress build failed with ${status}`);
}

/** Links of the built pages to a page, a heading, a picture or a Markdown text that is not there. */
function deadLinks(): string[] {
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const pages = new Map(
    names
      .filter((name) => name.endsWith('.html'))
      .map((name) => [join(dist, name), readFileSync(join(dist, name), 'utf8')]),
  );
  return [...pages].flatMap(([file, html]) =>
    Array.from(
      html.matchAll(/<(?:a|img|link) [^>]*?(?:href|src)="([^"]+)"/g),
      ([, href = '']) => href,
    )
      .filter((href) => !/^[a-z]+:/.test(href))
      .filter((href) => {
        const [path = '', anchor] = decodeURI(href).split('#');
        const from = path.startsWith('/') ? join(dist, path) : resolve(dirname(file), path);
        const target = path === '' ? file : path.endsWith('/') ? join(from, 'index.html') : from;
        if (!existsSync(target)) return true;
        return anchor !== undefined && pages.get(target)?.includes(`id="${anchor}"`) === false;
      })
      .map((href) => `${file.slice(dist.length + 1)}: ${href}`),
  );
}

installSite();
const made = readSite();
writePages(made, join(site, '.pages'));
build();
writeTexts(made, dist);
const dead = deadLinks().map((link) => `dead link: ${link}`);
const faults = await findFaults(dist);
if (faults === undefined) console.log('no Chromium here: the pages were not looked at');
for (const line of [...dead, ...(faults ?? [])]) {
  console.error(line);
  process.exitCode = 1;
}
