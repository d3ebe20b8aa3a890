import { defineConfig } from 'vitepress';
import { anchorOf } from '../../../scripts/anchor.ts';
import { description, navigation, sidebars } from '../../../scripts/site-pages.ts';

/** A picture in two colours: the one that goes with the colours of the page, which a reader may switch. */
function withBothColours(html: string): string {
  return html.replace(
    /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img ([^>]*)src="([^"]+)">\s*<\/picture>/g,
    '<img class="light-only" $2src="$3"><img class="dark-only" $2src="$1">',
  );
}

export default defineConfig({
  title: 'Tandem RPC',
  description: description(),
  // scripts/site.ts has written them.
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  markdown: {
    // The usual themes have too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    // Nothing in the pages is a template.
    attrs: { disable: true },
    config(md) {
      const { fence } = md.renderer.rules;
      if (fence === undefined) throw new Error('VitePress renders code by another rule now');
      // Code by its indent looks like code between fences.
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (token !== undefined) token.info = 'text';
        return fence(tokens, index, options, env, self);
      };
      // A corner of a table is no header.
      for (const rule of ['th_open', 'th_close'] as const) {
        md.renderer.rules[rule] = (tokens, index, options, _env, self) => {
          const token = tokens[index];
          const inline = tokens[rule === 'th_open' ? index + 1 : index - 1];
          if (token !== undefined && inline?.content === '') token.tag = 'td';
          return self.renderToken(tokens, index, options);
        };
      }
      for (const rule of ['html_block', 'html_inline'] as const) {
        md.renderer.rules[rule] = (tokens, index) => withBothColours(tokens[index]?.content ?? '');
      }
    },
  },
  transformHead: ({ page }) => {
    if (page === '404.md') return [];
    const markdown = page.slice(page.lastIndexOf('/') + 1);
    return [['link', { rel: 'alternate', type: 'text/markdown', href: `./${markdown}` }]];
  },
  themeConfig: {
    nav: navigation(),
    sidebar: sidebars(),
    search: { provider: 'local' },
    outline: [2, 3],
  },
});
