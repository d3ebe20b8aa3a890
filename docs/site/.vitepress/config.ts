import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
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

const item = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link });

const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Guide',
    items: [
      item('Your first service', '/docs/guide/first-service'),
      item('Where code runs', '/docs/guide/where-code-runs'),
      item('Who may call', '/docs/guide/auth'),
      item('State and databases', '/docs/guide/state'),
      item('Errors', '/docs/guide/errors'),
      item('Streams', '/docs/guide/streams'),
      item('Tests', '/docs/guide/tests'),
      item('Deploy', '/docs/guide/deploy'),
    ],
  },
  {
    text: 'Recipes',
    collapsed: true,
    items: [
      item('Uploads with sharp', '/docs/recipes/uploads'),
      item('SQLite', '/docs/recipes/sqlite'),
      item('Express and Fastify, one login', '/docs/recipes/shared-login'),
      item('Browsers and CORS', '/docs/recipes/browsers'),
      item('nginx in front', '/docs/recipes/nginx'),
      item('Docker and Kubernetes', '/docs/recipes/containers'),
      item('OpenTelemetry', '/docs/recipes/tracing'),
    ],
  },
  { text: 'Coming from ...', link: '/docs/coming-from' },
  {
    text: 'Depth',
    collapsed: true,
    items: [
      item('Procedures', '/docs/procedures'),
      item('Where code runs, whole', '/docs/where-code-runs'),
      item('Streams, whole', '/docs/streams'),
      item('The client', '/docs/client'),
      item('Contracts and the command line', '/docs/codegen'),
      item('In a server of your own', '/docs/mounting'),
      item('A service whole: media', '/docs/media'),
      item('Deployment', '/docs/deployment'),
      item('The console', '/docs/console'),
      item('Operations', '/docs/operations'),
    ],
  },
  {
    text: 'Reference',
    collapsed: true,
    items: [
      item('Options', '/docs/reference/options'),
      item('API', '/docs/reference/api/'),
      item('The wire', '/docs/protocol'),
      item('Changelog', '/CHANGELOG'),
    ],
  },
  {
    text: 'For the curious',
    collapsed: true,
    items: [
      item('What is left out, and why', '/docs/curious'),
      item('Architecture', '/docs/architecture'),
      item('Reliability', '/docs/reliability'),
      item('Security', '/docs/security'),
      item('Benchmark', '/docs/benchmark'),
      item('Testing', '/docs/testing'),
    ],
  },
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
