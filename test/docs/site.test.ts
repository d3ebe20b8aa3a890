import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { describe, it } from 'node:test';
import { navigation, readSite, sidebars, writeTexts } from '../../scripts/site-pages.ts';
import { links, pages as ofRepository, read } from './pages.ts';

const site = readSite();
const { pages, pictures } = site;

describe('the site', () => {
  it('has each page of the repository, at an address without docs/ or sources/', () => {
    assert.ok(pages.size > ofRepository.length, 'and those of the files that pages link to');
    for (const address of pages.keys()) assert.doesNotMatch(address, /^(?:docs|sources)\//);
    for (const address of [
      'index.md',
      'changelog.md',
      'security.md',
      'security-policy.md',
      'guide/first-service.md',
      'recipes/index.md',
      'reference/api/tandem-rpc/client.md',
      'examples/index.md',
    ]) {
      assert.ok(pages.has(address), address);
    }
  });

  it('has a page for each example that a page links to, and for its files', () => {
    const folder = pages.get('examples/media/index.md') ?? '';
    assert.match(folder, /^- \[procedures\.ts\]\(\.\/procedures\.ts\.md\)$/m);
    assert.match(folder, /^- \[domain\]\(\.\/domain\/index\.md\)$/m);
    const file = pages.get('examples/media/procedures.ts.md') ?? '';
    assert.ok(file.includes(`\n\`\`\`ts\n${read('examples/media/procedures.ts')}`));
    assert.match(pages.get('guide/state.md') ?? '', /\]\(\.\.\/examples\/index\.md#media\)/);
  });

  it('has no link to what it has not', () => {
    for (const [address, text] of pages) {
      const prose = text.replace(/^(```+).*?^\1$|`[^`\n]+`/gms, '');
      for (const link of links(prose)) {
        const [path = ''] = link.split('#');
        const target = path === '' ? address : posix.join(posix.dirname(address), path);
        assert.ok(pages.has(target) || pictures.has(target), `${address}: ${link}`);
      }
    }
  });

  it('has menus of all pages of the guide, of the recipes and of docs', () => {
    const shown = Object.values(sidebars()).flatMap((groups) =>
      groups.flatMap(({ items }) => items.map(({ link }) => link)),
    );
    const own = ofRepository.filter((page) =>
      /^docs\/(?:guide\/|recipes\/)?[\w-]+(?<!README)\.md$/.test(page),
    );
    assert.ok(own.length > 30);
    for (const page of own) assert.ok(shown.includes(page.slice('docs'.length, -3)), page);
    assert.deepEqual(
      navigation().map(({ text }) => text),
      ['Guide', 'Recipes', 'Compare', 'Benchmarks', 'Reference', 'Changelog'],
    );
  });

  it('serves its pages as Markdown, with a list of them and all texts in one file', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-site-'));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const address of pages.keys()) {
      mkdirSync(join(folder, dirname(address)), { recursive: true });
    }
    writeTexts(site, folder);
    const written = (name: string): string => readFileSync(join(folder, name), 'utf8');
    assert.match(written('index.md'), /^# Tandem RPC\n/);
    assert.match(written('examples/media/procedures.ts.md'), /^# examples\/media/);
    const [list, full] = [written('llms.txt'), written('llms-full.txt')];
    assert.match(list, /^# Tandem RPC\n\n> Typed RPC for Node/);
    const listed = links(list).filter((link) => link.endsWith('.md'));
    assert.ok(listed.length > 40);
    for (const link of listed) {
      const text = written(link);
      const isGenerated = link.startsWith('/reference/api/');
      assert.equal(full.includes(text), !isGenerated, link);
    }
  });
});
