import { readFileSync } from 'node:fs';
import { posix, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import llms from 'vitepress-plugin-llms';
import { anchorOf } from '../../../scripts/anchor.ts';
import { addressOf, linkOf, root } from '../addresses.ts';

const read = (path: string): string => readFileSync(root + path, 'utf8');

/** An entry of a menu: the heading of a page. */
function item(path: string) {
  const [, text = path] = /^# (.+)$/m.exec(read(path)) ?? [];
  return { text, link: `/${addressOf(path).replace(/(?:index)?\.md$/, '')}` };
}

const group = (text: string, pages: readonly string[], collapsed = true) => ({
  text,
  collapsed,
  items: pages.map(item),
});

/** The pages that the list of a folder's README names, in its order. */
function listed(folder: string): string[] {
  const links = read(`${folder}/README.md`).matchAll(
    /^(?:-|\d+\.) \[.*?\]\(((?:\.\.\/)?\w[\w-]*\.md)\)/gm,
  );
  return Array.from(links, ([, name]) => posix.join(folder, name ?? ''));
}

const docs = (...names: readonly string[]) => names.map((name) => `docs/${name}.md`);

/** In the order of use, as the chapters of the guide are. */
const inDepth = docs(
  'procedures',
  'where-code-runs',
  'client',
  'streams',
  'mounting',
  'codegen',
  'deployment',
  'cluster',
  'mcp',
  'operations',
  'console',
);
const reference = [
  ...docs(
    'reference/options',
    'reference/metrics',
    'reference/log',
    'reference/http-api',
    'reference/documents',
    'reference/api/README',
  ),
  ...docs('protocol', 'support'),
  'CHANGELOG.md',
];
const forContributors = [
  ...docs('architecture', 'testing', 'benchmark', 'reliability', 'security'),
  'CONTRIBUTING.md',
  'SECURITY.md',
];

const { description } = JSON.parse(read('package.json')) as { description: string };

export default defineConfig({
  title: 'Tandem RPC',
  description,
  srcDir: '../..',
  srcExclude: [
    '{bench,bundled,node_modules,packages,scripts,src,templates,test}/**',
    'docs/site/node_modules/**',
    'examples/*/**',
  ],
  rewrites: addressOf,
  outDir: 'dist',
  cacheDir: '.cache',
  markdown: {
    // The usual themes have too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    // Nothing in the pages is a template.
    attrs: { disable: true },
    config(md) {
      // Before VitePress looks at the links.
      md.core.ruler.push('addresses', ({ tokens, env }) => {
        const page = relative(root, env.realPath ?? env.path).replaceAll('\\', '/');
        // What it makes of sources has the addresses of the site.
        if (page.startsWith('docs/site/')) return;
        for (const { children } of tokens) {
          for (const token of children ?? []) {
            const href = token.attrGet('href');
            if (href !== null) token.attrSet('href', linkOf(page, href));
          }
        }
      });
    },
  },
  vite: {
    plugins: [
      llms({ ignoreFiles: ['docs/site/**', 'docs/reference/api/**'] }),
      {
        // The pages of sources are no files, so packages are not found from where they lie.
        name: 'vue-of-site',
        enforce: 'pre',
        resolveId(id) {
          if (!/^vue(?:\/|$)/.test(id)) return;
          return this.resolve(id, `${root}docs/site/package.json`, { skipSelf: true });
        },
      },
    ],
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: [
      group('Guide', ['docs/guide/README.md', ...listed('docs/guide')], false),
      group('When it fails, and whether to use it', docs('troubleshooting', 'compare'), false),
      group('Recipes', [...listed('docs/recipes'), 'examples/README.md']),
      group('In depth', inDepth),
      group('Reference', reference),
      group('For contributors', forContributors),
    ],
    search: { provider: 'local' },
    outline: [2, 3],
  },
});
