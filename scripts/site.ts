/**
 * `npm run docs:site`: builds the site of docs/site/dist from the pages of the repository, by VitePress, which is installed
 * in docs/site. VitePress fails at a link to a page that is not there; this script looks for the headings that links name.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { installSite, site } from './site-packages.ts';

const dist = join(site, 'dist');

function build(): void {
  const vitepress = join(site, 'node_modules/vitepress/bin/vitepress.js');
  const { status } = spawnSync(process.execPath, [vitepress, 'build'], {
    cwd: site,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`vitepress build failed with ${status}`);
}

/** Links of the built pages to a page or a heading that is not there. */
function deadLinks(): string[] {
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const pages = new Map(
    names
      .filter((name) => name.endsWith('.html'))
      .map((name) => [join(dist, name), readFileSync(join(dist, name), 'utf8')]),
  );
  return [...pages].flatMap(([file, html]) =>
    Array.from(html.matchAll(/<a [^>]*?href="([^"]+)"/g), ([, href = '']) => href)
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
build();
const dead = deadLinks();
if (dead.length > 0) {
  console.error(`dead links:\n${dead.join('\n')}`);
  process.exitCode = 1;
}
