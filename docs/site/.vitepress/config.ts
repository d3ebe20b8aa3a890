import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { anchorOf } from '../../../scripts/anchor.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Sources that pages link to, relative to the repository: the site has copies of them. */
const sources = new Set<string>();

/** Where the link of a page leads: to a page, by the name that the site has for it, or to a copy of a source. */
function resolveLink(href: string, page: string): string {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const target = relative(root, join(root, dirname(page), path));
  if (!existsSync(join(root, target))) throw new Error(`${page}: no ${href}`);
  if (path.endsWith('.md')) return href.replace(/README\.md/, 'index.md');
  sources.add(target);
  const name = statSync(join(root, target)).isDirectory() ? `${target}/` : `${target}.txt`;
  return `/sources/${name}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** Copies a source, as text that a browser shows; a folder with a page that lists it. */
function copySource(path: string, to: string): void {
  const target = join(to, 'sources', path);
  if (!statSync(join(root, path)).isDirectory()) {
    cpSync(join(root, path), `${target}.txt`);
    return;
  }
  mkdirSync(target, { recursive: true });
  const names = readdirSync(join(root, path));
  for (const name of names) copySource(join(path, name), to);
  const items = names.map((name) => {
    const isFolder = statSync(join(root, path, name)).isDirectory();
    return `<li><a href="${name}${isFolder ? '/' : '.txt'}">${name}</a></li>`;
  });
  const page = `<!doctype html><meta charset="utf-8"><title>${path}</title><ul>${items.join('')}</ul>`;
  writeFileSync(join(target, 'index.html'), page);
}

/** The pages lie outside of this folder: what is made of them on the server finds Vue where the result runs, in it. */
const vueOfSite = {
  name: 'vue-of-site',
  enforce: 'pre' as const,
  resolveId: (id: string, _importer: string | undefined, { ssr = false }) =>
    ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : null,
};

/** A page by its heading. */
function item(page: string): DefaultTheme.SidebarItem {
  const [, text = page] = /^# (.+)$/m.exec(readFileSync(join(root, `${page}.md`), 'utf8')) ?? [];
  return { text, link: `/${page.replace(/README$/, '')}` };
}

/** The pages that the list of a folder's README links to, in its order. */
function itemsOf(folder: string): DefaultTheme.SidebarItem[] {
  const list = readFileSync(join(root, folder, 'README.md'), 'utf8');
  const names = Array.from(
    list.matchAll(/^(?:-|\d+\.) \[.*?\]\((\w[\w-]*)\.md\)/gm),
    ([, name]) => name,
  );
  return names.map((name) => item(`${folder}/${name}`));
}

const reference = [
  'docs/reference/options',
  'docs/reference/api/README',
  'docs/protocol',
  'CHANGELOG',
];
const internals = ['architecture', 'reliability', 'security', 'benchmark', 'testing'].map(
  (name) => `docs/${name}`,
);
const single = 'docs/coming-from';
/** Every other page of docs, so that none is forgotten. */
const depth = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name.slice(0, -'.md'.length)}`)
  .filter((page) => ![...reference, ...internals, single].includes(page));

const sidebar: DefaultTheme.SidebarItem[] = [
  { text: 'Guide', items: itemsOf('docs/guide') },
  { text: 'Recipes', collapsed: true, items: itemsOf('docs/recipes') },
  item(single),
  { text: 'Depth', collapsed: true, items: depth.map(item) },
  { text: 'Reference', collapsed: true, items: reference.map(item) },
  { text: 'How it works', collapsed: true, items: internals.map(item) },
];

export default defineConfig({
  title: 'Tandem RPC',
  description: 'JSON-RPC 2.0 for Node.js: no heavy procedure slows another down.',
  srcDir: '../..',
  outDir: 'dist',
  cacheDir: '.cache',
  srcExclude: [
    '{bench,node_modules,scripts,src,templates,test,.build,packages}/**',
    'docs/site/**',
  ],
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  // resolveLink has found them.
  ignoreDeadLinks: [/^\/sources\//],
  vite: { plugins: [vueOfSite] },
  markdown: {
    anchor: { slugify: anchorOf },
    // Nothing in the pages is a template.
    attrs: { disable: true },
    config(md) {
      const render = md.renderer.rules.link_open;
      if (render === undefined) throw new Error('VitePress renders links by another rule now');
      // Pictures in HTML: Vue takes a path without a dot for the name of a package.
      for (const rule of ['html_block', 'html_inline'] as const) {
        md.renderer.rules[rule] = (tokens, index) =>
          (tokens[index]?.content ?? '').replace(/ (src|srcset)="(?=\w+[/.])/g, ' $1="./');
      }
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const token = tokens[index];
        const href = token?.attrGet('href');
        const { path } = env as { path: string };
        if (href) token?.attrSet('href', resolveLink(decodeURI(href), relative(root, path)));
        return render(tokens, index, options, env, self);
      };
    },
  },
  buildEnd({ outDir }) {
    for (const path of sources) copySource(path, outDir);
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/docs/guide/' },
      { text: 'Options', link: '/docs/reference/options' },
      { text: 'API', link: '/docs/reference/api/' },
    ],
    sidebar,
    search: { provider: 'local' },
    outline: [2, 3],
  },
});
